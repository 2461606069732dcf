"""Figures and words from a trace, without a browser, a model or torch."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from functools import partial
from itertools import accumulate

import numpy as np
import plotly.graph_objects as go
import pytest

from app.examples import load_examples
from app.theme import COLOURS, TEXT_COLOURS, contrast
from app.views import entropy_figure, focus, prefix_figure, summary, tabs, tree_figure
from app.views.acceptance import acceptance_figure, mean_interval
from app.views.figure import view_value
from app.views.known_law import known_law
from app.views.law import law_figure
from app.views.stages import STAGES, stages_figure
from app.views.tree import depths, fold, rows
from glance.law import Law, fit
from glance.law_rounds import recorded
from glance.replay import Round, lanes
from glance.trace import parse_trace
from tests.ui.toy_trace import TEXT, toy_trace

LINES = list(toy_trace())
BEST = "<b>o</b> 0.9, <b>#</b> 0.06"  # of the toy's second token


def figures(lines: list[dict]) -> list[dict]:
    lane = focus(lanes(lines))
    step = lane.rounds[-1] if lane and lane.rounds else None
    return [
        tree_figure(step, "toy"),
        prefix_figure(lane, lines, "toy"),
        entropy_figure(lane, lines, "toy"),
        *tabs(lines, "toy", ended=True).values(),
    ]


@pytest.mark.parametrize("stop", [0, 1, 2, 7, len(LINES)])
def test_every_figure_is_valid_plotly_at_any_moment_of_a_run(stop):
    for figure in figures(LINES[:stop]):
        go.Figure(figure)  # validates every attribute
        assert figure["layout"]["meta"]["caption"]
        assert figure["layout"]["uirevision"] == "toy"


def test_an_answer_of_one_token_is_not_said_to_be_plain_decoding():
    lines = list(toy_trace(text="7"))
    captions = [figure["layout"]["meta"]["caption"] for figure in figures(lines)]
    assert captions[:2] == ["No round, so no candidate tree.", "No round, so no drafted tokens."]
    assert captions[2].startswith("1 token; ")
    assert not [words for words in captions if "plain" in words]
    headline = summary(lines)["headline"]
    assert headline.startswith("1 token, known as soon as the page was read. Too short to gain")


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
    assert [fate for _, fate, *_ in drawn["accepted"]["customdata"]] == ["accepted"]
    assert "bonus" not in drawn
    fates = [fate for _, fate, *_ in drawn["rejected"]["customdata"]]
    assert fates.count("past the end of the answer") == len(verdict["path"]) - 2
    assert "1 accepted, which ended the answer" in figure["layout"]["meta"]["caption"]


def test_a_node_tells_both_probabilities_entropy_and_the_five_best_where_they_are_on_record():
    step = lanes(list(toy_trace(text="Total")))["glance"].rounds[0]
    drawn = {t["meta"]["role"]: t for t in tree_figure(step, "toy")["data"]}
    assert drawn["root"]["customdata"] == [["T", "root token", 1.0, 0, 0.5, 0.1, BEST]]
    [first, *_] = drawn["rejected"]["customdata"]
    assert first == ["?", "rejected", 0.1, 1, 0.5, 0.1]
    assert "at the node before it, if that was accepted" in drawn["rejected"]["hovertemplate"]
    bare = copy.deepcopy(step.lines)
    for token in bare["commit"]["tokens"]:
        del token["top"]
    root = tree_figure(Round(1, bare), "toy")["data"][2]
    assert root["customdata"][0][-1] == "not on record"


def test_the_caption_says_how_much_of_the_node_budget_was_used():
    step = lanes(LINES)["glance"].rounds[0]
    budget = {**step.lines["build"], "node_budget": 63}
    figure = tree_figure(Round(1, {**step.lines, "build": budget}), "toy")
    nodes = len(budget["tree"]["parent"]) - 1
    assert f"Round 1: {nodes} of 63 nodes drafted" in figure["layout"]["meta"]["caption"]


def test_past_64_nodes_the_least_probable_subtrees_fold_into_counted_markers():
    step = wide_round()
    figure = tree_figure(step, "toy")
    go.Figure(figure)
    drawn = {t["meta"]["role"]: t for t in figure["data"] if t["meta"].get("nodes")}
    shown = sum(len(drawn[role]["x"]) for role in ("root", "rejected", "accepted"))
    folded = [int(text) for text in drawn["folded"]["text"]]
    assert shown == 64
    assert shown + sum(folded) == len(step.lines["build"]["tree"]["parent"]) == 160
    assert len(drawn["accepted"]["x"]) == step.accepted
    assert f"{160 - 64} improbable candidates folded" in figure["layout"]["meta"]["caption"]
    places = [place for t in drawn.values() for place in zip(t["x"], t["y"], strict=True)]
    assert len(places) == len(set(places))


def test_what_is_folded_is_worth_no_more_than_what_is_drawn():
    tree = wide_round().lines["build"]["tree"]
    path = wide_round().lines["accept"]["verdict"]["path"]
    drawn, _ = fold(tree["parent"], tree["p_draft"], path)
    worth = []
    for parent, p in zip(tree["parent"], tree["p_draft"], strict=True):
        worth.append(p if parent < 0 else worth[parent] * p)
    kept = set(drawn)
    assert kept.issuperset(path)
    assert all(tree["parent"][node] in kept for node in drawn if node)
    hidden = [worth[node] for node in range(len(worth)) if node not in kept]
    assert max(hidden) <= min(worth[node] for node in drawn if node not in path)


@pytest.mark.parametrize("seed", range(3))
def test_figures_keep_to_nine_kilobytes_with_the_longest_answer(seed):
    lines = list(toy_trace(text=("The “total” is 48.20 EUR\n" * 30)[:512], seed=seed))
    lane = focus(lanes(lines))
    drawn = [*figures(lines), tree_figure(wide_round(), "toy")]
    assert len(lane.tokens) == 512
    assert max(len(view_value("toy", figure).encode()) for figure in drawn) <= 9_000


def wide_round() -> Round:
    """A round of 160 nodes: each of twenty depths has eight candidates, the best goes on."""
    step = lanes(list(toy_trace(text="x" * 40, block=21)))["glance"].rounds[0]
    parent, p_draft, rank = [-1], [1.0], [0]
    last = 0
    for _ in range(20):
        first = len(parent)
        parent += [last] * 8
        p_draft += [0.5, *([0.07] * 7)]
        rank += range(8)
        last = first
    parent, p_draft, rank = parent[:160], p_draft[:160], rank[:160]
    tree = {"parent": parent, "p_draft": p_draft, "rank": rank, "text": ["x"] * 160}
    path = [0, *(1 + 8 * depth for depth in range(step.accepted))]
    return Round(
        1,
        {
            **step.lines,
            "build": {"tree": tree, "node_budget": 160},
            "verify": {"p_target": [0.123] * 160, "h": [1.234] * 160},
            "accept": {"verdict": {"path": path, "bonus": {"id": 120, "text": "x"}}},
        },
    )


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
    [copied] = figure["layout"]["shapes"]
    start = TEXT.index("48.20")
    assert copied["path"] == f"M{start - 0.5},0H{start + 4.5}V1H{start - 0.5}Z"


def test_rounds_end_where_the_page_marks_them():
    lane = focus(lanes(LINES))
    meta = entropy_figure(lane, LINES, "toy")["layout"]["meta"]
    assert meta["ends"][0] == 0.5  # the prefill token, of no round
    assert meta["ends"][-1] == len(TEXT) - 0.5
    assert len(meta["ends"]) == len(lane.rounds) + 1


def bars(figure: dict) -> dict[str, list]:
    return {t["name"]: t["y"] for t in figure["data"] if t["type"] == "bar"}


def caption(figure: dict) -> str:
    return figure["layout"]["meta"]["caption"]


def test_the_histogram_counts_every_round_once_and_tells_copy_from_other():
    lane = focus(lanes(LINES))
    found = bars(acceptance_figure(lane, LINES, "toy"))
    assert set(found) == {"rounds in copy mode", "other rounds"}
    totals = [sum(column) for column in zip(*found.values(), strict=True)]
    accepted = [step.accepted for step in lane.rounds]
    assert totals == [accepted.count(depth) for depth in range(max(accepted) + 1)]
    start = TEXT.index("48.20")
    ends = accumulate(len(step.commit["tokens"]) for step in lane.rounds)
    copied = [
        start <= end - len(step.commit["tokens"]) + 1 and end < start + 5
        for step, end in zip(lane.rounds, ends, strict=True)
    ]
    assert sum(found["rounds in copy mode"]) == sum(copied) > 0


def test_the_histogram_says_means_intervals_and_whether_copy_is_known():
    lines = [line for line in LINES if line["kind"] != "grounding"]
    lane = focus(lanes(lines))
    figure = acceptance_figure(lane, lines, "toy")
    assert set(bars(figure)) == {"rounds"}
    accepted = [step.accepted for step in lane.rounds]
    low, high = mean_interval(accepted)
    mean = sum(accepted) / len(accepted)
    assert low < mean < high
    told = f"rounds: {mean:.1f} (95%: {low:.1f} to {high:.1f}), n = {len(accepted)}."
    assert told in caption(figure)
    assert "no grounding" in caption(figure)
    [point] = [t for t in figure["data"] if t["type"] == "scatter"]
    assert point["x"] == [round(mean, 2)]
    assert mean_interval([3]) is None


def test_few_rounds_are_points_without_a_curve_and_it_says_so():
    lane = focus(lanes(LINES))
    figure = law_figure(lane, LINES, "toy")
    assert len(lane.rounds) < 30
    assert all(trace["mode"] == "markers" for trace in figure["data"])
    assert sum(len(trace["x"]) for trace in figure["data"]) == len(lane.rounds)
    assert "too few to fit the law, which takes 30" in caption(figure)


def test_few_rounds_have_the_law_of_many_answers_of_the_same_head(tmp_path, monkeypatch):
    made_by = recorded([LINES]).made_by
    saved = {"made_by": made_by, "traces": 90, "groups": {"pooled": {"law": {"b0": 2, "b1": 1.5}}}}
    (tmp_path / "law.json").write_text(json.dumps(saved), "utf-8")
    monkeypatch.setattr("app.views.law.known_law", partial(known_law, folder=tmp_path))
    lane = focus(lanes(LINES))
    figure = law_figure(lane, LINES, "toy")
    *points, curve = figure["data"]
    assert {trace["mode"] for trace in points} == {"markers"}
    assert (curve["mode"], curve["name"]) == ("lines", "law of 90 other answers")
    room = float(recorded([LINES]).rounds.room.max())
    expected = Law(2.0, 1.5).expected(np.array(curve["x"]), room)
    assert curve["y"] == pytest.approx(expected.tolist(), abs=0.01)
    assert "too few to fit the law, which takes 30. The curve is the law of 90" in caption(figure)
    assert "logit p = 2.00 - 1.50 H" in caption(figure)
    assert known_law("another head", folder=tmp_path) is None
    assert known_law(made_by, folder=tmp_path / "nothing") is None


def test_every_shipped_example_that_has_rounds_shows_a_law():
    for example in load_examples():
        lines = parse_trace(example.recorded())
        figure = law_figure(focus(lanes(lines)), lines, "example")
        assert figure["data"][-1]["mode"] == "lines", example.id


def test_the_law_s_curve_is_that_of_the_fit_to_the_run_s_rounds():
    lines = list(toy_trace(text=TEXT * 6))
    lane = focus(lanes(lines))
    figure = law_figure(lane, lines, "toy")
    *points, curve = figure["data"]
    rounds = recorded([lines]).rounds
    law = fit(rounds)
    expected = law.expected(np.array(curve["x"]), float(rounds.room.max()))
    assert curve["mode"] == "lines"
    assert curve["y"] == pytest.approx(expected.tolist(), abs=0.01)
    assert f"logit p = {law.b0:.2f}" in caption(figure)
    drawn = {
        r: (x, y) for t in points for r, x, y in zip(t["customdata"], t["x"], t["y"], strict=True)
    }
    for step in lane.rounds:
        assert drawn[step.number] == (round(step.lines["verify"]["h"][0], 3), step.accepted)


def test_a_round_s_stages_are_its_verbs_and_the_rest():
    found = lanes(LINES)
    figure = stages_figure(found["glance"], found["ar"], "toy")
    heights = bars(figure)
    assert list(heights) == list(STAGES)
    assert {name: ys[0] for name, ys in heights.items()} == {
        "draft": 4.0,
        "build": 1.0,
        "verify": 11.0,
        "accept": 0.5,
        "commit": 0.5,
        "other": 0.1,
    }
    assert "A round takes 17.1 ms on average, 64% of it to verify" in caption(figure)
    assert "Token by token, one takes 0.6 ms (dashed line)." in caption(figure)
    assert [shape["y0"] for shape in figure["layout"]["shapes"]] == pytest.approx([0.6, 0.6])


def test_a_plain_lane_alone_has_a_target_pass_and_what_is_around_it():
    lines = list(toy_trace(lanes=("ar",)))
    drawn = tabs(lines, "toy", ended=True)
    assert set(bars(drawn["stages"])) == {"verify", "other"}
    assert "dashed" not in caption(drawn["stages"])
    assert drawn["acceptance"]["data"] == drawn["law"]["data"] == []


def test_figures_of_the_whole_run_wait_for_its_end():
    drawn = tabs(LINES, "toy", ended=False)
    assert set(drawn) == set(tabs(LINES, "toy", ended=True))
    assert {caption(figure) for figure in drawn.values()} == {"Drawn when the run has ended."}


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
            for word, *_ in (each for each in trace.get("customdata", ()) if len(each) > 1):
                assert not set(word) & set("<>\n")
    hover = json.dumps([tree_figure(s, "toy") for s in lanes(lines)["glance"].rounds])
    assert set(re.findall(r"<[^>]*>", hover)) == {"<b>", "</b>", "<br>", "<extra>", "</extra>"}


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


@pytest.mark.parametrize("stop", [1, 2, 9, 40])
def test_a_run_that_was_stopped_is_summed_up_as_far_as_it_came(stop):
    lines = LINES[:stop]
    if lane := lanes(lines).get("glance"):
        tokens, passes = len(lane.tokens), len(lane.rounds)
        assert not lane.finish
    told, waiting = summary(lines, ended=True), summary(lines, ended=False)
    assert waiting["headline"] == "The summary appears when the run has ended."
    assert waiting["badge"]["detail"] == "Compared when both have ended."
    assert told["badge"]["detail"] == "The run was stopped before it came to that."
    if lane:
        assert told["headline"].startswith(f"Stopped after {tokens} token")
        assert f" in {passes} target pass" in told["headline"]
    else:
        assert told["headline"] == "Stopped before the first token."


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
    assert told["badge"]["text"] == "Drawn at temperature 0.7: lanes are not compared"
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
