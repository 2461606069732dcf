"""From traces to rounds and groups, and the commands that record and fit.

python -m pytest tests/unit/test_law_rounds.py
"""

import json
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from glance.cli.main import main
from glance.config import AUTO, DecodeConfig
from glance.documents.dataset import page
from glance.drafters.toy import RandomDrafter
from glance.law_pages import b1_interval, difference
from glance.law_rounds import LawError, groups, recorded
from glance.record import record
from glance.replay import lanes
from glance.targets.base import Target
from glance.trace import Line, dumps, read_trace
from tests.reading_target import reading_target

ROOT = Path(__file__).resolve().parents[2]
TASKS = ("docvqa", "textvqa", "caption")


def trace(
    rounds: list[tuple[float, int, int]],  # H, accepted, committed
    task: str | None = "docvqa",
    sha256: str = "page",
    levels: tuple[float, ...] = (),
    copied: list[tuple[int, int]] | None = None,
    finished: bool = True,
    budget: int | str = 15,
    drafter: str = "glance",
) -> list[Line]:
    """The lines of a trace that the law reads."""
    degradations = [{"name": "blur", "level": level} for level in levels]
    header: dict[str, Any] = {
        "kind": "header",
        "target": {"name": "tiny", "revision": "abc"},
        "drafter": {"name": drafter, "revision": "def", "block_size": 16},
        "settings": {"node_budget": budget, "temperature": 0.0},
        "image": {"sha256": sha256},
        "sample": {"task": task, "degradations": degradations} if task else None,
    }
    lines: list[Line] = [header, {"kind": "prefill", "lane": drafter, "root": {}, "top": []}]
    for number, (entropy, accepted, committed) in enumerate(rounds, start=1):
        origins = (["drafted"] * accepted + ["bonus"])[:committed]
        common = {"lane": drafter, "r": number}
        lines.append({"kind": "verify", **common, "h": [entropy, 9.0]})
        lines.append({"kind": "commit", **common, "tokens": [{"origin": o} for o in origins]})
    if finished:
        tokens = 1 + sum(committed for _, _, committed in rounds)
        lines.append({"kind": "finish", "lane": drafter, "tokens": tokens})
    if copied is not None:
        copy = [{"tokens": list(span)} for span in copied]
        lines.append({"kind": "grounding", "lane": drafter, "copy": copy})
    return lines


def test_room_ends_with_the_answer_or_the_block() -> None:
    found = recorded([trace([(0.1, 2, 3), (0.2, 15, 16), (0.3, 4, 4)])]).rounds
    assert found.entropy.tolist() == [0.1, 0.2, 0.3]
    assert found.accepted.tolist() == [2, 15, 4]
    assert found.room.tolist() == [15, 15, 4]  # 23 tokens, 20 tokens, 4 tokens were left
    assert (found.accepted <= found.room).all()


def test_room_is_no_deeper_than_the_node_budget() -> None:
    assert recorded([trace([(0.1, 2, 3)] * 20, budget=4)]).rounds.room[0] == 4
    assert recorded([trace([(0.1, 2, 3)] * 20, budget=AUTO)]).rounds.room[0] == 15


def test_a_trace_cut_off_has_whole_blocks_before_it() -> None:
    lines = trace([(0.1, 2, 3), (0.2, 1, 2)], finished=False)
    assert recorded([lines]).rounds.room.tolist() == [15, 15]
    assert len(recorded([lines[:-1]]).rounds) == 1  # the last round was not committed
    assert len(recorded([lines, lines[:1]]).rounds) == 2  # stopped in its prefill


def test_pages_tasks_degradations_and_copied_tokens() -> None:
    found = recorded(
        [
            trace([(0.1, 1, 2), (0.2, 2, 3)], copied=[(0, 2), (4, 6)]),
            trace([(0.3, 0, 1)], "caption", "other", (0.3, 0.4)),
            trace([(0.4, 0, 1)], None, "file"),
        ]
    )
    assert found.rounds.page.tolist() == ["page", "page", "other", "file"]
    assert found.task.tolist() == ["docvqa", "docvqa", "caption", ""]
    assert found.degradation.tolist() == pytest.approx([0, 0, 0.7, np.nan], nan_ok=True)
    assert found.committed.tolist() == [2, 3, 1, 1]
    assert found.copied.tolist() == pytest.approx([1, 2, np.nan, np.nan], nan_ok=True)
    named = groups(found)
    assert {name: len(group.rounds) for name, group in named.items()} == {
        "pooled": 4,
        "without caption": 3,
        "docvqa": 2,
        "caption": 1,
        "grounded": 2,
        "other tasks": 1,
        "clean pages": 2,
        "level up to 1": 1,
    }
    assert named["docvqa"].copied == pytest.approx(3 / 5)
    assert named["pooled"].copied is None


def test_rounds_of_different_makes_are_not_mixed() -> None:
    with pytest.raises(LawError, match=r"one target.*node budget 15.*node budget 31"):
        recorded([trace([(0.1, 1, 2)]), trace([(0.1, 1, 2)], budget=31)])
    with pytest.raises(LawError, match=r"glance-chain"):
        recorded([trace([(0.1, 1, 2)]), trace([(0.1, 1, 2)], drafter="glance-chain")])


def test_plain_decoding_alone_has_no_law() -> None:
    plain = [{**trace([])[0], "drafter": None}]
    with pytest.raises(LawError, match="no drafted rounds"):
        recorded([plain])


# --- the commands
@pytest.fixture(scope="module")
def tiny() -> Target:
    return reading_target(layers=2)


@pytest.fixture
def loaded(tiny: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny target and a drafter that guesses, in place of the shipped ones."""
    monkeypatch.setattr("glance.targets.load.load_target", lambda _name: tiny)
    monkeypatch.setattr(
        "glance.drafters.load.load_drafter",
        lambda _name, target, _head, _shape: RandomDrafter(target.vocab_size),
    )


def test_headers_of_recorded_traces_name_the_page(tiny: Target, tmp_path: Path) -> None:
    config = DecodeConfig(max_new_tokens=6, seed=7)
    drafter = RandomDrafter(tiny.vocab_size)
    paths = list(record(tiny, drafter, ("docvqa", "caption"), 2, tmp_path, config))
    assert len(paths) == len(set(paths)) == 4
    for path in paths:
        lines = read_trace(path)
        header = lines[0]
        sample = header["sample"]
        assert path.name == f"{sample['task']}-test-{sample['index']}.jsonl"
        drawn = page(sample["split"], sample["index"])
        asked = [q for q in drawn.questions if q.question == header["prompt"]["question"]]
        assert sample["task"] in {q.task for q in asked}
        assert [d["name"] for d in sample["degradations"]] == [d.name for d in drawn.degradations]
        assert all(0 <= d["level"] <= 1 for d in sample["degradations"])
        assert lines[-1]["kind"] == "grounding"
        assert list(lanes(lines)) == ["random"]
    assert [read_trace(path)[0]["settings"]["seed"] for path in paths] == [7, 8, 9, 10]
    pages = [read_trace(path)[0]["image"]["sha256"] for path in paths]
    assert len(set(pages)) == 3  # tasks share pages


def test_earlier_questions_of_a_dialogue_are_asked_and_kept(
    tiny: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_up = next(
        (drawn, q)
        for drawn in (page("test", index) for index in range(30))
        for q in drawn.questions
        if q.history
    )
    monkeypatch.setattr("glance.record.one_a_page", lambda *_: iter([follow_up]))
    config = DecodeConfig(max_new_tokens=2)
    [path] = record(tiny, RandomDrafter(tiny.vocab_size), (), 1, tmp_path, config)
    header = read_trace(path)[0]
    drawn, asked = follow_up
    assert header["sample"]["history"] == [list(turn) for turn in asked.history]
    prompt = tiny.prompt(drawn.image, asked.question, asked.history)
    assert header["prompt"]["tokens"] == prompt.input_ids.shape[1]


@pytest.mark.usefixtures("loaded")
def test_record_then_law(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("glance.law_checks.b1_interval", partial(b1_interval, draws=20))
    monkeypatch.setattr("glance.cli.law.difference", partial(difference, draws=20))
    folder, result, drawing = tmp_path / "traces", tmp_path / "law.json", tmp_path / "law.svg"
    options = ["--tasks", *TASKS, "--n", "2", "--max-tokens", "24", "--out", str(folder)]
    assert main(["record", *options]) == 0
    assert len(list(folder.glob("*.jsonl"))) == 6
    assert capsys.readouterr().out == ""
    assert main(["law", str(folder), "--json", str(result), "--svg", str(drawing)]) == 0
    out = capsys.readouterr().out
    made_by, heads, *_ = out.splitlines()
    assert made_by.startswith("tiny")
    assert "with random" in made_by
    assert heads.startswith("group")
    assert max(map(len, out.splitlines())) <= 100
    assert "nats; a fit needs 20%." in out
    saved = json.loads(result.read_text("utf-8"))
    assert saved["traces"] == 6
    pooled = saved["groups"]["pooled"]
    assert pooled["rounds"] == sum(saved["groups"][task]["rounds"] for task in TASKS)
    assert pooled["pages"] <= 6
    assert set(pooled["law"]) == {"b0", "b1"}
    assert pooled["holds"] is all(pooled["conditions"].values())
    assert pooled["deciles"][0]["rounds"] >= 5
    assert sum(one["share"] for one in saved["histogram"]) == pytest.approx(1.0)
    assert saved["provenance"]
    ElementTree.parse(drawing)


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ([{**trace([])[0], "schema": 1, "drafter": None}], "no drafted rounds"),
        ([{"kind": "header", "schema": 1}], "lacks a field"),
        ([{"kind": "header", "schema": 99}], "schema 99"),
    ],
)
def test_what_cannot_be_fitted_is_said(
    lines: list[Line], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["law", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert word in said.err


def test_shipped_traces_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """They are older than the header's `sample`."""
    assert main(["law", str(ROOT / "assets" / "traces")]) == 0
    assert "pooled" in capsys.readouterr().out
