"""What a reader sets before a run, and what the page says of its cost. No model, no browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from app.card import blocks
from app.choices import ABOUT, cards, options, second_options
from app.cost import hint
from app.examples import ASSETS
from app.format import LANES as NAMED
from app.format import lane_name
from app.handlers import on_run
from app.held import Held
from app.host import KEPT, Host
from app.session import DRAFTERS, LANES, MEASURED, Session
from app.settings import DEFAULTS, MAX_TOKENS, NO_LANE, Settings, SettingsError, chosen
from app.ui import build
from app.views.summary import SHORT, summary
from glance.config import AUTO, MAX_SEED, MAX_TEMPERATURE, MOST_NODES, DecodeConfig
from glance.documents.intake import Document
from glance.drafters.load import NAMES, head_of, ready_names
from glance.limits import limits_of
from tests.ui.toy_page import draw_page, toy_runner
from tests.ui.toy_trace import toy_trace

ROOT = Path(__file__).parents[2]
CONTROLS = ("glance", "ar", 15, False, 256, 0, 0)
PAGE = Document(Image.new("RGB", (280, 140), "white"), (), 1, 1, (280, 140), "0" * 64, "page.png")
HELD = Held(b"", (PAGE,), characters=100)
VISUAL = 200  # tokens of that page, 14 x 14 pixels each
LONG = "x" * 40


def component(demo, name: str):
    (found,) = (block for block in demo.blocks.values() if block.elem_id == name)
    return found


# --- settings ---------------------------------------------------------------------------------


def test_the_controls_as_they_stand_at_first_are_the_defaults_of_decoding():
    settings = chosen(*CONTROLS)
    assert settings == Settings(LANES)
    assert settings.node_budget == DecodeConfig().node_budget == DEFAULTS.node_budget


@pytest.mark.parametrize(
    ("first", "second", "lanes"),
    [
        ("glance", "ngram", ("glance", "ngram")),
        ("ar", "glance", ("ar", "glance")),
        ("glance", NO_LANE, ("glance",)),
        ("ar", "ar", ("ar",)),
    ],
)
def test_two_drafters_are_two_lanes_in_their_order_and_one_twice_is_one(first, second, lanes):
    assert chosen(first, second, *CONTROLS[2:]).lanes == lanes


@pytest.mark.parametrize(
    ("place", "values", "words"),
    [
        (2, (0, MOST_NODES + 1), "node budget must be between 1 and 63"),
        (4, (0, MAX_TOKENS + 1), "number of tokens must be between 1 and 512"),
        (5, (-0.1, MAX_TEMPERATURE + 0.1, float("nan")), "temperature must be between 0 and 10"),
        (6, (-1, MAX_SEED + 1), "seed must be between 0 and 4,294,967,295"),
        (2, (1.5,), "must be a whole number"),
        (6, (0.5,), "must be a whole number"),
        (5, (None, "warm"), "temperature must be a number"),
        (6, (None, 10**400), "seed must be a number"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_sentence_before_anything_runs(place, values, words):
    def never(*_args) -> Iterator[dict]:
        raise AssertionError("nothing may run")

    session = Session(lambda: never)
    session.start()
    for value in values:
        controls = [*CONTROLS[:place], value, *CONTROLS[place + 1 :]]
        with pytest.raises(SettingsError, match=words):
            chosen(*controls)
        (frame,) = on_run(session, HELD, "What?", *controls)
        told = json.loads(frame.state)
        assert told["level"] == "error"
        assert words in told["text"]
        assert told["text"].endswith(".")


def test_the_bounds_are_those_of_decoding():
    """The largest values that the page lets through are good for a DecodeConfig."""
    largest = chosen("glance", "ar", MOST_NODES, False, MAX_TOKENS, MAX_TEMPERATURE, MAX_SEED)
    settings = {"temperature": largest.temperature, "seed": largest.seed}
    DecodeConfig(**settings, node_budget=MOST_NODES, max_new_tokens=largest.max_tokens)
    with pytest.raises(ValueError, match="temperature"):
        DecodeConfig(temperature=MAX_TEMPERATURE + 0.1)
    with pytest.raises(ValueError, match="seed"):
        DecodeConfig(seed=MAX_SEED + 1)


def test_every_control_reaches_the_runner():
    asked: list[Settings] = []

    def runner(*given) -> Iterator[dict]:
        asked.append(given[2])
        yield from toy_runner(0)(*given)

    session = Session(lambda: runner)
    session.start()
    demo = build(session, ())
    auto = component(demo, "g-auto")
    (run,) = (event for event in demo.fns.values() if auto in event.inputs and event.inputs[2:])
    assert [block.value for block in run.inputs[2:]] == [*LANES, 15, False, 256, 0.0, 0]
    list(run.fn(HELD, "What?", "ngram", "glance", 31, False, 64, 0.8, 7))
    list(run.fn(HELD, "What?", "glance", NO_LANE, 31, True, 64, 0, 0))
    assert asked == [
        Settings(("ngram", "glance"), 31, 64, 0.8, 7),
        Settings(("glance",), AUTO, 64, 0.0, 0),
    ]


def test_draws_are_not_compared_and_the_badge_says_so():
    session = Session(lambda: toy_runner(0))
    session.start()
    *_, last = on_run(session, HELD, LONG, "glance", "ngram", 15, False, 64, 0.8, 3)
    badge = json.loads(last.summary)["badge"]
    assert badge["text"] == "Drawn at temperature 0.8: lanes are not compared"
    assert '"kind":"compare"' not in last.trace


# --- drafters and their cards -----------------------------------------------------------------


def test_what_can_be_chosen_is_what_is_there():
    demo = build(Session(lambda: toy_runner()), ())
    first, second = component(demo, "g-first"), component(demo, "g-second")
    assert [value for _, value in first.choices] == list(ready_names()) == list(DRAFTERS)
    assert [value for _, value in second.choices] == [*DRAFTERS, NO_LANE]
    assert (first.value, second.value) == LANES == ("glance", "ar")


def test_every_drafter_has_a_name_and_a_description_and_the_scripts_have_the_same_names():
    assert set(NAMED) == set(ABOUT) == set(NAMES)
    assert len({name for name, _ in options(NAMES)}) == len(NAMES)
    assert second_options(("ar",)) == [("Token by token", "ar"), ("Nothing", NO_LANE)]
    script = (ROOT / "app" / "static" / "core.js").read_text(encoding="utf-8")
    table = script.split("const LANES = {")[1].split("};")[0]
    found = dict(re.findall(r'"?([\w-]+)"?: "([^"]+)"', table))
    assert found == NAMED


def test_a_card_is_that_of_the_head_and_a_chain_has_its_trees():
    tree, chain, ar = json.loads(cards("glance", "glance-chain", "glance", "ar", NO_LANE))
    assert tree["name"] == "GLANCE"
    assert tree["blocks"] == chain["blocks"]
    title = (ASSETS / "models" / head_of("glance") / "README.md").read_text().splitlines()[0]
    assert tree["blocks"][0] == {"kind": "heading", "text": title.removeprefix("# ")}
    assert ar["blocks"] == []
    assert json.loads(cards("ngram", NO_LANE))[0]["blocks"] == []


def test_a_card_is_blocks_of_text_and_nothing_of_it_is_markup():
    text = """---
license: mit
---
# A head

Two lines
of <b>text</b> and `code`.
![picture](https://example.com/x.png)

| | |
|---|---|
| steps | 12 <img src=x onerror=alert(1)> |

    a = 1
    b = 2
"""
    assert blocks(text) == [
        {"kind": "heading", "text": "A head"},
        {"kind": "text", "text": "Two lines of <b>text</b> and `code`."},
        {"kind": "table", "rows": [["steps", "12 <img src=x onerror=alert(1)>"]]},
        {"kind": "code", "text": "a = 1\nb = 2"},
    ]
    assert blocks("") == []


def test_a_run_of_two_drafters_is_told_as_one_against_the_other():
    lines = list(toy_trace(LONG, lanes=("glance", "ngram")))
    told = summary(lines)
    one, other = (line for line in lines if line["kind"] == "finish")
    facts = {fact["label"]: fact for fact in told["facts"]}
    assert facts["Tokens a round"]["value"] == f"{one['tau']:.2f} / {other['tau']:.2f}"
    assert facts["Target passes"]["note"] == "GLANCE / Prompt lookup"
    assert told["headline"].endswith(f"instead of {other['target_passes']}.")
    assert told["badge"]["state"] == "equal"
    three = summary(list(toy_trace(LONG, lanes=("ar", "glance", "ngram"))))
    facts = {fact["label"]: fact for fact in three["facts"]}
    assert facts["Target passes"]["note"] == "GLANCE / Token by token"


@pytest.mark.parametrize(
    ("tokens", "lanes", "reason", "short"),
    [
        (SHORT - 1, ("glance", "ar"), "eos", True),
        (SHORT - 1, ("glance",), "length", True),
        (SHORT, ("glance", "ar"), "eos", False),
        (SHORT - 1, ("ar",), "eos", False),
        (SHORT - 1, ("glance", "ar"), "cancelled", False),
    ],
)
def test_an_answer_that_is_too_short_to_gain_is_called_so(tokens, lanes, reason, short):
    lines = [
        {**line, "reason": reason} if line["kind"] == "finish" else line
        for line in toy_trace("x" * tokens, lanes=lanes)
    ]
    assert ("Too short to gain" in summary(lines)["headline"]) is short


# --- the machine, and what a run costs on it --------------------------------------------------


def learned(host: Host, lanes: tuple[str, ...] = ("glance", "ar"), text: str = LONG) -> list[dict]:
    lines = list(toy_trace(text, lanes=lanes))
    host.learn(lines)
    return lines


def test_a_machine_is_known_by_its_runs():
    host = Host()
    assert (host.device, host.read_ms(), host.write_ms("ar")) == (None, None, None)
    host.learn([])
    lines = learned(host)
    assert host.device == "Toy CPU"
    assert host.read_ms() == pytest.approx(120 / 24)  # ms of prefill over visual tokens
    finish = {line["lane"]: line for line in lines if line["kind"] == "finish"}
    for lane in ("glance", "ar"):
        assert host.write_ms(lane) == pytest.approx(1000 / finish[lane]["tok_s"]["decode"])
    assert host.write_ms("ngram") is None


def test_a_short_answer_and_a_follow_up_tell_nothing_of_what_they_did_not_do():
    host = Host()
    learned(host, text="x" * (SHORT - 1))
    assert host.write_ms("ar") is None
    assert host.read_ms() is not None
    again = Host()
    lines = [
        {**line, "reused": 12} if line["kind"] == "prefill" else line for line in toy_trace(LONG)
    ]
    again.learn(lines)
    assert again.read_ms() is None
    assert again.write_ms("ar") is not None


def test_one_slow_run_moves_no_figure_and_old_ones_are_forgotten():
    host = Host()
    for ms in (120.0, 120.0, 9000.0):
        lines = list(toy_trace(LONG))
        host.learn([{**x, "ms": ms} if x["kind"] == "prefill" else x for x in lines])
    assert host.read_ms() == pytest.approx(120 / 24)
    for _ in range(KEPT):
        host.learn([{**x, "ms": 240.0} if x["kind"] == "prefill" else x for x in lines])
    assert host.read_ms() == pytest.approx(240 / 24)


def test_the_processor_is_named_where_there_is_no_other_device():
    header = next(toy_trace())
    header["target"]["device"] = "cpu"
    header["provenance"]["machine"] = {"cpu": "Toy Xeon", "cores": 2}
    host = Host()
    host.learn([header])
    assert host.device == "Toy Xeon, 2 cores"


def test_the_page_names_the_machine_and_its_speed_once_both_are_known():
    session = Session(lambda: toy_runner(0))
    session.start()
    *_, last = session.run((PAGE,), LONG, Settings(LANES))
    assert last.phase == "done"
    assert json.loads(session.status())["text"] == (
        "Model ready on Toy CPU: 12.0 ms a token, token by token"
    )


def test_the_speed_is_that_of_a_drafter_where_nothing_was_decoded_without_one():
    session = Session(lambda: toy_runner(0))
    session.start()
    list(session.run((PAGE,), LONG, Settings(("ngram",))))
    ms = session.host.write_ms("ngram")
    text = json.loads(session.status())["text"]
    assert text == f"Model ready on Toy CPU: {ms:.1f} ms a token, with {lane_name('ngram')}"


def test_the_cost_follows_the_page_the_lanes_and_the_limit():
    host = Host()
    learned(host)
    drafted = host.write_ms("glance")
    assert drafted is not None
    read = 5.0 * VISUAL / 1000  # s
    said = hint(host, HELD, "ar", NO_LANE, 256)
    assert said.startswith(f"{VISUAL} visual tokens, about 100 characters.")
    assert f"about {3 * read + 15 * 0.012:.1f} s for a short answer" in said
    assert f"{3 * read + 100 * 0.012:.1f} s for all its text." in said
    two = hint(host, HELD, "glance", "ar", 256)
    assert f"{4 * read + 100 * (0.012 + drafted / 1000):.1f} s for all its text." in two
    assert hint(host, HELD, "ar", "ar", 256) == said
    assert f"{3 * read + 50 * 0.012:.1f} s for 50 tokens." in hint(host, HELD, "ar", NO_LANE, 50)
    pages = replace(HELD, documents=(PAGE, PAGE), characters=200)
    assert hint(host, pages, "ar", NO_LANE, 256).startswith(f"{2 * VISUAL} visual tokens")


def test_a_drafter_that_has_not_run_here_is_taken_to_gain_nothing():
    host = Host()
    learned(host, lanes=("ar",))
    plain = hint(host, HELD, "ar", NO_LANE, 256)
    told = " Answers under 10 tokens are too short to gain from drafts."
    assert hint(host, HELD, "ngram", NO_LANE, 256) == plain + told


def test_without_a_page_or_a_measurement_nothing_is_made_up():
    host = Host()
    assert hint(host, None, "glance", "ar", 256) == ""
    assert hint(host, HELD, "glance", "ar", None) == ""
    assert hint(host, HELD, "glance", "ar", 256) == (
        "200 visual tokens, about 100 characters. How long a run takes here is not known yet."
    )
    learned(host, lanes=("glance",))
    assert "not known yet" in hint(host, HELD, "glance", "ar", 256)
    blank = replace(HELD, characters=0)
    learned(host)
    assert "200 visual tokens. On this" in hint(host, blank, "ar", NO_LANE, 256)
    assert "for 256 tokens." in hint(host, blank, "ar", NO_LANE, 256)


def test_the_text_of_a_page_is_counted_when_it_is_taken_in(tmp_path):
    text = "Northgate Stationers\n12 Mill Lane, Oxbridge OX4 2TT\n" * 4
    draw_page(tmp_path / "page.png", text)
    held = Held.first_page(tmp_path / "page.png", "page.png")
    assert held.characters == pytest.approx(len(text), rel=0.2)
    geometry = limits_of("embedded").geometry
    assert geometry is not None
    assert hint(Host(), held, "ar", NO_LANE, 256).startswith(
        f"{geometry.visual_tokens(held.documents[0].image.size):,} visual tokens, about "
    )
    half = held.turned([1], (0.0, 0.5, 1.0, 1.0))
    assert half.characters < held.characters


def test_the_run_that_measures_is_long_enough_to_count():
    assert MEASURED >= SHORT
