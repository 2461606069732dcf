"""The page without a browser: how it is built, what events hand back, what first paint needs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import plotly.graph_objects as go
import pytest
from PIL import Image

from app.examples import load_examples
from app.frames import replayed
from app.handlers import STOPPED, lane_of, on_open, on_pick, on_stop, on_upload, tree_of
from app.session import Session
from app.ui import build, launch_options
from glance.trace import dumps
from tests.ui.toy_page import draw_page, make_assets, toy_runner
from tests.ui.toy_trace import toy_trace

ROOT = Path(__file__).parents[2]


@pytest.fixture
def assets(tmp_path) -> Path:
    return make_assets(tmp_path / "assets")


def round_text(number: int) -> str:
    lines = [line for line in toy_trace() if line.get("r") == number and line["lane"] != "ar"]
    return "".join(dumps(line) + "\n" for line in lines)


def test_first_paint_replays_a_recorded_trace_without_model_and_torch(assets):
    """Builds the page from examples while no model folder is reachable, then looks at imports."""
    code = f"""
import sys
from pathlib import Path
from app.examples import load_examples
from app.session import Session
from app.ui import build
def absent(): raise FileNotFoundError("the model folder is absent")
demo = build(Session(absent), load_examples(Path({str(assets)!r})))
values = {{b.elem_id: b.value for b in demo.blocks.values() if hasattr(b, "value")}}
assert values["g-channel"].startswith('{{"kind":"header"'), values["g-channel"][:80]
assert '"source": "recorded"' in values["g-state"]
assert '"figure"' in values["g-tree"]
print(sorted({{"torch", "transformers"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_a_page_without_any_example_still_builds(tmp_path):
    assert load_examples(tmp_path) == ()
    build(Session(lambda: toy_runner()), ())


def test_threads_are_set_before_torch_can_load():
    code = (
        "import os, sys; os.environ.pop('OMP_NUM_THREADS', None);"
        "os.environ.pop('OMP_WAIT_POLICY', None); import runpy;"
        "runpy.run_path('app.py', run_name='imported');"
        "print(os.environ['OMP_NUM_THREADS'], os.environ['OMP_WAIT_POLICY'], end=' ');"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.split() == ["1", "PASSIVE", "False"], done.stderr


def test_nothing_is_recorded_monitored_or_shown_of_errors():
    options = launch_options()
    assert options["run_history"] is False
    assert options["ssr_mode"] is False
    assert options["show_error"] is False
    assert options["enable_monitoring"] is False
    demo = build(Session(lambda: toy_runner()), ())
    assert demo.analytics_enabled is False
    assert demo.delete_cache
    public = [event.api_name for event in demo.fns.values() if event.api_visibility != "private"]
    assert public == ["ask", "ask_stream"]


def test_no_gr_plot_and_no_template_with_a_value():
    """A template that mentions a value is evaluated as JavaScript: text could run there."""
    for path in (ROOT / "app").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                assert not (node.attr == "Plot" and getattr(node.value, "id", "") == "gr"), path
    demo = build(Session(lambda: toy_runner()), ())
    for block in demo.blocks.values():
        template = getattr(block, "html_template", "") or ""
        assert "${" not in template
        assert "{{" not in template


def test_scripts_write_text_never_markup():
    for path in (ROOT / "app" / "static").glob("*.js"):
        source = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in source, f"{path.name}: {word}"


def test_picking_an_example_gives_its_page_question_and_recorded_run(assets):
    (example,) = load_examples(assets)
    held, view, question, suggestions, frame = on_pick(example)
    (document,) = held.documents
    assert document.sha256 == json.loads(view)["sha256"]
    assert question == "Transcribe the page."
    assert json.loads(suggestions)[0]["title"] == "Transcribe the page."
    lines = [json.loads(line) for line in frame.trace.splitlines()]
    assert lines[0]["image"]["sha256"] == document.sha256
    assert json.loads(frame.state)["source"] == "recorded"


def test_the_preview_knows_where_every_glyph_stands(assets):
    (example,) = load_examples(assets)
    glyphs = json.loads(on_pick(example)[1])["glyphs"]
    assert len(glyphs["ink"]) == len(glyphs["boxes"])
    assert glyphs["ink"].startswith("NorthgateStationers")
    assert all(0 <= side <= 1 for box in glyphs["boxes"] for side in box)


def test_a_good_upload_becomes_the_document(tmp_path):
    Image.new("RGB", (200, 100), "white").save(tmp_path / "p.png")
    held, view, _, told = on_upload(str(tmp_path / "p.png"))
    assert held is not None
    assert json.loads(view)["width"] == 200
    assert json.loads(told)["level"] == "info"


def test_small_text_is_told_when_the_page_is_chosen(tmp_path):
    draw_page(tmp_path / "p.png", "Northgate Stationers\n12 Mill Lane, Oxbridge OX4 2TT\n" * 6)
    picture = Image.open(tmp_path / "p.png")
    picture.resize((picture.width // 3, picture.height // 3), 3).save(tmp_path / "small.png")
    held, view, _, told = on_upload(str(tmp_path / "small.png"))
    words = json.loads(told)
    assert held is not None
    assert words["level"] == "warning"
    assert words["text"].startswith("Text will be about ")
    assert json.loads(view)["notices"] == [words["text"]]


def test_the_page_says_which_letters_the_model_reads(assets):
    demo = build(Session(lambda: toy_runner()), load_examples(assets))
    (question,) = (b for b in demo.blocks.values() if b.elem_id == "g-question")
    assert question.info == "This model reads Latin letters only."


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.png", b""),
        ("text.png", b"hello"),
        ("p.pdf", b"%PDF-1.7"),
        ("cut.jpg", b"\xff\xd8\xff"),
    ],
)
def test_a_bad_upload_is_one_sentence_and_leaves_no_document(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    held, view, _, told = on_upload(str(tmp_path / name))
    assert held is None
    assert view == "null"
    words = json.loads(told)
    assert words["level"] == "error"
    assert words["text"].endswith(".")
    assert str(tmp_path) not in words["text"]


def test_an_exported_trace_opens_to_the_same_figures(tmp_path, assets):
    (example,) = load_examples(assets)
    frame = on_pick(example)[-1]
    path = tmp_path / "trace.jsonl"
    path.write_text(frame.trace, encoding="utf-8")
    page, question, opened = on_open(str(path), None)
    assert (page, question) == ("null", example.question)
    assert opened.parts[1:] == frame.parts[1:]
    assert json.loads(opened.state)["source"] == "opened"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[1, 2]",
        '{"kind":"header","schema":999}',
        '{"kind":"header","schema":1,"run":"r"}',
        dumps(next(toy_trace())) + '\n{"kind":"commit","lane":"x","r":1}',
        dumps(next(toy_trace())) + '\n{"kind":"commit","lane":"x","r":1,"tokens":3,"text":"a"}',
    ],
)
def test_a_bad_trace_is_one_sentence(tmp_path, text):
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    page, question, frame = on_open(str(path), None)
    assert (page, question) == (None, None)
    assert frame.trace is None
    told = json.loads(frame.state)
    assert told["level"] == "error"
    assert told["text"].endswith(".")


def test_stop_ends_what_the_page_shows():
    lines = list(toy_trace())[:12]
    frame = on_stop("".join(dumps(line) + "\n" for line in lines))
    told = json.loads(frame.state)
    assert (told["phase"], told["run"]) == ("stopped", lines[0]["run"])
    assert told["text"] == STOPPED
    assert json.loads(frame.summary)["headline"].startswith("Stopped after ")
    captions = [
        each["layout"]["meta"]["caption"] for each in json.loads(frame.tabs)["figures"].values()
    ]
    assert not any("when the run has ended" in words for words in captions)


@pytest.mark.parametrize("trace", ["", None, 3, "no trace"])
def test_stop_before_anything_came_says_so_alone(trace):
    frame = on_stop(trace)
    assert json.loads(frame.state)["text"] == STOPPED
    assert frame.parts[1:] == (None,) * 6


def test_a_round_of_any_trace_can_be_drawn_again():
    figure = json.loads(tree_of(round_text(2)))
    go.Figure(figure)
    assert figure["layout"]["meta"]["round"] == 2


def test_a_round_whose_rank_is_text_is_not_drawn():
    """Plotly reads tags in what it draws, and a trace may come from anyone."""
    ranked = round_text(2).replace('"rank":[0,0', '"rank":[0,"<a href=x>0</a>"')
    assert ranked != round_text(2)
    assert tree_of(ranked) is None


def test_the_figures_of_the_second_drafter_are_those_it_would_have_alone():
    both = list(toy_trace(lanes=("glance", "eagle3")))
    alone = [each for each in both if each.get("lane") != "glance" or each["kind"] == "grounding"]
    text = "".join(dumps(line) + "\n" for line in both)
    for lane in ("glance", "eagle3"):
        figures = json.loads(lane_of(json.dumps({"lane": lane, "trace": text})))
        rounds = sum(line["kind"] == "commit" and line["lane"] == lane for line in both)
        assert figures["prefix"]["data"][0]["x"] == list(range(1, rounds + 1))
        for figure in (figures["prefix"], figures["entropy"], *figures["tabs"].values()):
            go.Figure(figure)
    frame = replayed("".join(dumps(line) + "\n" for line in alone), "opened")
    assert json.loads(frame.prefix)["figure"]["data"] == figures["prefix"]["data"]
    assert json.loads(frame.entropy)["figure"] == figures["entropy"]
    # its block size is not on record
    assert figures["prefix"]["layout"]["shapes"] == []
    assert figures["tabs"]["law"]["data"] == []


@pytest.mark.parametrize("lane", ["medusa", None, ["glance"]])
def test_a_lane_that_is_none_has_no_figures(lane):
    text = "".join(dumps(line) + "\n" for line in toy_trace(lanes=("glance", "eagle3")))
    assert lane_of(json.dumps({"lane": lane, "trace": text})) is None
    for asked in ("", "[]", "{}", json.dumps({"lane": "glance", "trace": 3})):
        assert lane_of(asked) is None


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", '{"kind":"commit"}', "x" * 300_000])
def test_a_round_that_is_none_is_no_figure(text):
    assert tree_of(text) is None
