"""Figures and words from a trace, without a browser, a model or torch."""

from __future__ import annotations

import subprocess
import sys

import plotly.graph_objects as go
import pytest

from app.theme import COLOURS, TEXT_COLOURS, contrast
from app.views import entropy_figure, focus, prefix_figure, summary, tree_figure
from app.views.tree import depths, rows
from glance.replay import Round, lanes
from tests.ui.toy_trace import TEXT, toy_trace

LINES = list(toy_trace())


def figures(lines: list[dict]) -> list[dict]:
    lane = focus(lanes(lines))
    step = lane.rounds[-1] if lane and lane.rounds else None
    return [
        tree_figure(step, "toy"),
        prefix_figure(lane, lines, "toy"),
        entropy_figure(lane, lines, "toy"),
    ]


@pytest.mark.parametrize("stop", [0, 1, 2, 7, len(LINES)])
def test_every_figure_is_valid_plotly_at_any_moment_of_a_run(stop):
    for figure in figures(LINES[:stop]):
        go.Figure(figure)  # validates every attribute
        assert figure["layout"]["meta"]["caption"]
        assert figure["layout"]["uirevision"] == "toy"


def test_tree_draws_every_node_and_the_bonus_token():
    for step in lanes(LINES)["glance"].rounds:
        figure = tree_figure(step, "toy")
        drawn = [t for t in figure["data"] if t["meta"].get("nodes")]
        by_role = {t["meta"]["role"]: len(t["x"]) for t in drawn}
        nodes = len(step.lines["build"]["tree"]["parent"])
        assert sum(by_role.values()) == nodes + 1
        assert (
            by_role["accepted"] == len(step.lines["accept"]["verdict"]["path"]) - 1 == step.accepted
        )
        assert by_role["bonus"] == by_role["root"] == 1
        places = [place for t in drawn for place in zip(t["x"], t["y"], strict=True)]
        assert len(places) == len(set(places))  # no marker hides another


def test_what_lies_past_the_end_of_the_answer_is_not_drawn_as_accepted():
    step = lanes(LINES)["glance"].rounds[0]
    verdict, tokens = step.lines["accept"]["verdict"], step.commit["tokens"]
    assert len(verdict["path"]) > 2
    cut = Round(1, {**step.lines, "commit": {**step.commit, "tokens": tokens[:1]}})
    figure = tree_figure(cut, "toy")
    drawn = {t["meta"]["role"]: t for t in figure["data"] if t["meta"].get("nodes")}
    assert drawn["accepted"]["customdata"] == [verdict["path"][1]]
    assert "bonus" not in drawn
    beyond = drawn["rejected"]["customdata"].index(verdict["path"][2])
    assert "past the end of the answer" in drawn["rejected"]["hovertext"][beyond]
    assert "1 accepted, which ended the answer" in figure["layout"]["meta"]["caption"]


def test_accepted_path_is_one_straight_line_and_no_two_nodes_share_a_place():
    for step in lanes(LINES)["glance"].rounds:
        parents, path = (
            step.lines["build"]["tree"]["parent"],
            step.lines["accept"]["verdict"]["path"],
        )
        row, depth = rows(parents, path), depths(parents)
        assert {row[node] for node in path} == {0}
        assert len(set(zip(depth, row, strict=True))) == len(parents)


def test_prefix_bars_add_up_to_the_answer():
    lane = focus(lanes(LINES))
    kept, own = prefix_figure(lane, LINES, "toy")["data"]
    assert sum(kept["y"]) + sum(own["y"]) + 1 == len(TEXT) == lane.finish["tokens"]


def test_entropy_has_one_bar_a_token_and_shades_the_copied_span():
    figure = entropy_figure(focus(lanes(LINES)), LINES, "toy")
    assert sorted(x for trace in figure["data"] for x in trace["x"]) == list(range(len(TEXT)))
    copied = [s for s in figure["layout"]["shapes"] if s["name"] == "copied"]
    start = TEXT.index("48.20")
    assert [(s["x0"], s["x1"]) for s in copied] == [(start - 0.5, start + 4.5)]


def test_token_text_is_drawn_literally():
    """Plotly reads tags and entities in labels, so they must reach it escaped."""
    text = "a<b>&amp;\n x</s>"
    lines = list(toy_trace(text=text))
    for step in lanes(lines)["glance"].rounds:
        for trace in tree_figure(step, "toy")["data"]:
            for shown in trace.get("text", ()):
                assert "<" not in shown
                assert ">" not in shown
                assert "\n" not in shown
    bars = entropy_figure(focus(lanes(lines)), lines, "toy")["data"]
    shown = {x: s for trace in bars for x, s in zip(trace["x"], trace["customdata"], strict=True)}
    expected = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": "⏎", " ": "␣"}
    assert [shown[i] for i in range(len(text))] == [expected.get(c, c) for c in text]


def test_summary_says_what_the_trace_says():
    lines = LINES
    told = summary(lines)
    finish = {line["lane"]: line for line in lines if line["kind"] == "finish"}
    assert told["badge"]["state"] == "equal"
    assert f"{len(TEXT)}/{len(TEXT)}" in told["badge"]["text"]
    facts = {fact["label"]: fact["value"] for fact in told["facts"]}
    assert facts["Tokens a round"] == f"{finish['glance']['tau']:.2f}"
    passes = f"{finish['glance']['target_passes']} / {finish['ar']['target_passes']}"
    assert facts["Target passes"] == passes
    assert facts["Prefill"] == "120 ms"
    faster = finish["glance"]["tok_s"]["decode"] / finish["ar"]["tok_s"]["decode"]
    assert facts["Decode speed-up"] == f"{faster:.1f}×"


def test_an_automatic_node_budget_is_told_in_words():
    lines = list(toy_trace())
    assert "Node budget" not in {fact["label"] for fact in summary(lines)["facts"]}
    lines[0]["settings"]["node_budget"] = "auto"
    used = [line["node_budget"] for line in lines if line["kind"] == "build"]
    assert min(used) < max(used)
    facts = {fact["label"]: fact["value"] for fact in summary(lines)["facts"]}
    assert facts["Node budget"] == f"auto, {min(used)} to {max(used)} used"
    assert "Node budget" not in {fact["label"] for fact in summary(lines[:1])["facts"]}


def test_a_round_of_the_root_alone_is_a_tree_too():
    step = lanes(LINES)["glance"].rounds[0]
    alone = {
        "build": {
            "tree": {"parent": [-1], "id": [84], "text": ["T"], "p_draft": [1.0], "rank": [0]}
        },
        "verify": {"posterior": [120], "p_target": [1.0], "h": [0.1]},
        "accept": {"verdict": {"path": [0], "bonus": {"id": 120, "text": "x"}}},
    }
    figure = tree_figure(Round(1, {**step.lines, **alone}), "toy")
    go.Figure(figure)
    assert "0 candidates" in figure["layout"]["meta"]["caption"]


@pytest.mark.parametrize(
    ("change", "state", "word"),
    [
        ({"state": "near_tie", "at": 3, "gap": 2e-6}, "near_tie", "rounding"),
        ({"state": "mismatch", "at": 3, "gap": 1.0}, "mismatch", "should not happen"),
    ],
)
def test_badge_tells_a_near_tie_from_a_mismatch(change, state, word):
    lines = [{**line, **change} if line["kind"] == "compare" else line for line in LINES]
    badge = summary(lines)["badge"]
    assert badge["state"] == state
    assert word in badge["detail"]
    assert "3" in badge["text"]


def test_draws_are_neither_equal_nor_a_mismatch():
    header = {**LINES[0], "settings": {**LINES[0]["settings"], "temperature": 0.7}}
    lines = [header, *(line for line in LINES[1:] if line["kind"] != "compare")]
    told = summary(lines)
    assert told["badge"]["state"] == "unchecked"
    assert told["badge"]["text"] == "Drawn at temperature 0.7: not compared"
    assert "instead of" in summary(LINES)["headline"]
    assert "instead of" not in told["headline"]


def test_one_lane_is_not_checked():
    told = summary(list(toy_trace(lanes=("glance",))))
    assert told["badge"]["state"] == "unchecked"
    assert told["facts"]


def test_views_import_neither_torch_nor_gradio():
    code = "import sys, app.views; print({'torch', 'gradio', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", TEXT_COLOURS)
@pytest.mark.parametrize("theme", [0, 1])
def test_text_colours_have_contrast(name, theme):
    grounds = ["accent"] if name == "on-accent" else ["card", "page", "sunken"]
    for ground in grounds:
        assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5, ground
