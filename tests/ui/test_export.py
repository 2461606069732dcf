"""A run as files: the replay page, the table of rounds, the picture that a trace may carry."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from threading import Event, Semaphore

import pytest

from app.examples import load_examples
from app.handlers import MAX_TRACE_BYTES, on_open, on_pick, replay_of, rounds_of
from app.picture import take_picture
from app.replay_file import replay_html
from app.views import tree_figure
from glance.replay import lanes
from glance.trace import TraceError, dumps
from tests.ui.toy_page import make_assets
from tests.ui.toy_trace import toy_trace

ROOT = Path(__file__).parents[2]
ATTACK = "</script><script>document.title='run'</script><!--<img src=x onerror=alert(1)>\u2028]]>"


class Scripts(HTMLParser):
    """The script elements of a page, as a browser finds them: (attributes, text)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.others: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._inside = tag == "script"
        if self._inside:
            self.found.append((dict(attrs), ""))
        else:
            self.others.append(tag)

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "script"

    def handle_data(self, data):
        if self._inside:
            attributes, text = self.found.pop()
            self.found.append((attributes, text + data))

    def data(self) -> dict:
        [text] = [text for attributes, text in self.found if attributes.get("id") == "g-data"]
        return json.loads(text)


def text_of(lines) -> str:
    return "".join(dumps(line) + "\n" for line in lines)


@pytest.fixture
def example(tmp_path):
    (example,) = load_examples(make_assets(tmp_path / "assets"))
    return example


def with_picture(example) -> str:
    """The example's trace as the page exports it with the box ticked."""
    first, _, rest = example.recorded().partition("\n")
    header = json.loads(first)
    header["image"]["bytes"] = json.loads(on_pick(example)[1])["src"]
    return dumps(header) + "\n" + rest


def test_a_replay_has_the_trace_the_figures_and_every_tree(example):
    text = example.recorded()
    frame = on_pick(example)[-1]
    data = Scripts(replay_html(text)).data()
    values = data["values"]
    assert values["channel"] == text
    assert (values["tree"], values["prefix"], values["entropy"]) == frame.parts[2:5]
    assert values["summary"] == frame.summary
    rounds = lanes([json.loads(line) for line in text.splitlines()])["glance"].rounds
    run = json.loads(frame.tree)["run"]
    trees = {str(step.number): tree_figure(step, run) for step in rounds}
    assert data["trees"] == {"glance": trees}
    assert data["lanes"] == {}  # of one drafting lane all figures are there already


def test_a_replay_is_small_asks_nobody_and_is_always_the_same(example):
    page = replay_html(example.recorded())
    assert len(page) < 3_000_000
    assert page == replay_html(example.recorded())
    assert "default-src 'none'" in page
    links = re.findall(r"""(?:src|href)\s*=\s*["'][^"']*["']|url\([^)]*\)|@import""", page)
    assert links == []


def test_text_of_a_trace_cannot_leave_its_place_in_a_replay():
    clean = Scripts(replay_html(text_of(toy_trace())))
    lines = list(toy_trace(text=ATTACK, question=ATTACK))
    lines[0]["target"]["name"] = lines[0]["created"] = ATTACK
    attacked = Scripts(replay_html(text_of(lines)))
    assert [attributes for attributes, _ in attacked.found] == [
        attributes for attributes, _ in clean.found
    ]
    assert attacked.others == clean.others
    values = attacked.data()["values"]
    assert values["channel"] == text_of(lines)
    assert json.loads(values["state"])["asked"] == ATTACK


def test_a_lone_surrogate_does_not_keep_a_trace_from_being_exported():
    text = text_of(toy_trace(text="ab\ud800cd")).encode("ascii", "backslashreplace").decode()
    assert "\\ud800" in text
    values = Scripts(replay_of(text)).data()["values"]
    assert values["channel"] == text
    assert "?" in rounds_of(text)


def test_the_picture_of_the_page_is_in_a_replay_only_if_the_trace_has_it(example):
    assert Scripts(replay_html(example.recorded())).data()["values"]["document"] == "null"
    values = Scripts(replay_html(with_picture(example))).data()["values"]
    picture = json.loads(values["document"])
    assert picture["src"].startswith("data:image/webp;base64,")
    header = json.loads(values["channel"].partition("\n")[0])
    assert picture["sha256"] == header["image"]["sha256"]
    assert "bytes" not in header["image"]


def test_a_run_about_two_pages_keeps_both_pictures(example):
    first, _, rest = with_picture(example).partition("\n")
    header = json.loads(first)
    header["second_image"] = {**header["image"], "page": 2}
    text, shown = take_picture(dumps(header) + "\n" + rest)
    pages = json.loads(shown)
    assert pages["src"] == pages["second"]["src"]
    assert (pages["page"], pages["second"]["page"]) == (1, 2)
    assert "data:image" not in text


def test_an_opened_trace_shows_its_picture_and_keeps_it_out_of_its_lines(tmp_path, example):
    path = tmp_path / "trace.jsonl"
    path.write_text(with_picture(example), encoding="utf-8")
    picture, question, frame = on_open(str(path), None)
    assert question == example.question
    shown = json.loads(picture)
    assert (shown["width"], shown["height"]) == (560, 720)
    assert frame.trace == example.recorded()
    assert "only shown" in json.loads(frame.state)["text"]


def test_an_opened_trace_never_stands_beside_a_foreign_page(tmp_path, example):
    path = tmp_path / "trace.jsonl"
    path.write_text(example.recorded(), encoding="utf-8")
    own, *_ = on_pick(example)
    for held in (own.turned([1], (0, 0, 1, 0.5)), own.forgotten().turned([1], None), None):
        page, _, frame = on_open(str(path), held)
        foreign = held is None or held.documents[0].crop is not None
        assert page == ("null" if foreign else None)
        assert ("no picture of its page" in json.loads(frame.state)["text"]) == foreign


@pytest.mark.parametrize(
    "picture",
    [
        3,
        "https://example.org/pixel.png",
        "data:text/html;base64,PGI+",
        "data:image/svg+xml;base64," + base64.b64encode(b"<svg onload='x'/>").decode(),
        "data:image/webp;base64,!!!",
        "data:image/webp;base64,UklGRg==",
    ],
)
def test_a_picture_that_is_none_is_one_sentence(tmp_path, picture):
    lines = list(toy_trace())
    lines[0]["image"]["bytes"] = picture
    path = tmp_path / "bad.jsonl"
    path.write_text(text_of(lines), encoding="utf-8")
    shown, _, frame = on_open(str(path), None)
    assert shown is None
    assert frame.trace is None
    words = "The picture of the page in this trace cannot be read."
    assert json.loads(frame.state)["text"] == words
    with pytest.raises(TraceError, match="picture"):
        replay_html(text_of(lines))


def test_text_that_is_no_trace_comes_back_from_the_picture_as_it_is():
    for text in ("", "hello", "[1]", "{}", '{"image":null}', '{"image":{"bytes":'):
        assert take_picture(text) == (text, None)


@pytest.mark.parametrize("export", [replay_of, rounds_of])
def test_what_cannot_be_exported_is_no_file(export, example):
    header = example.recorded().partition("\n")[0]
    damaged = header + '\n{"kind":"commit","lane":"x","r":1,"tokens":3,"text":"a"}\n'
    for text in ("", "hello", damaged, "{" * (MAX_TRACE_BYTES + 1), None, 7):
        assert export(text) is None


@pytest.mark.parametrize("export", [replay_of, rounds_of])
def test_text_from_a_visitor_is_never_taken_for_a_path(tmp_path, export, example):
    private = tmp_path / "private.jsonl"
    private.write_text(example.recorded(), encoding="utf-8")
    assert export(str(private)) is None
    (tmp_path / "sent.jsonl").write_text(str(private), encoding="utf-8")
    assert on_open(str(tmp_path / "sent.jsonl"), None)[-1].trace is None


def test_the_table_of_rounds_goes_over_the_wire_whole(example):
    rows = list(csv.reader(io.StringIO(rounds_of(example.recorded()))))
    commits = [line for line in example.recorded().splitlines() if '"kind":"commit"' in line]
    assert len(rows) == 1 + len(commits)


def test_the_command_line_writes_the_same_file_without_torch_and_gradio(tmp_path):
    trace, page = ROOT / "assets" / "traces" / "receipt.jsonl", tmp_path / "run.html"
    code = (
        "import sys; from glance.cli.main import main; "
        "sys.exit(main(sys.argv[1:]) or len({'torch', 'gradio'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "replay", str(trace), "--html", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"wrote {page}" in done.stderr
    assert page.read_text(encoding="utf-8") == replay_of(trace.read_text(encoding="utf-8"))


def test_the_replay_s_scripts_are_the_page_s_own():
    static = ROOT / "app" / "static"
    script = Scripts(replay_html(text_of(toy_trace()))).found[-1][1]
    for name in ("core", "trace", "player", "race", "answers", "panels", "plots", "replay"):
        assert (static / f"{name}.js").read_text(encoding="utf-8") in script


def test_a_few_files_are_made_at_a_time_and_the_next_one_is_refused(monkeypatch):
    """Of all kinds together, as nothing but this holds them back."""
    going, go_on = Semaphore(0), Event()

    def slowly(_trace: str) -> str:
        going.release()
        assert go_on.wait(60)
        return "made"

    monkeypatch.setattr("app.handlers.replay_html", slowly)
    monkeypatch.setattr("app.few.PATIENCE_S", 0.05)
    trace = "".join(dumps(line) + "\n" for line in toy_trace())
    with ThreadPoolExecutor() as pool:
        first = [pool.submit(replay_of, trace) for _ in range(2)]
        assert all(going.acquire(timeout=60) for _ in first)
        refused = [replay_of(trace), rounds_of(trace)]
        go_on.set()
    assert refused == [None, None]
    assert [each.result() for each in first] == ["made", "made"]
    assert rounds_of(trace)
