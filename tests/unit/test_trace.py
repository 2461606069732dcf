"""The file format: what was written comes back, what is no trace is refused in words."""

import json
import re
import shlex

import pytest

from glance.trace import SCHEMA, TraceError, dumps, parse_trace, provenance, read_trace, whole_lines

HEADER = {"kind": "header", "run": "x", "seq": 0, "schema": SCHEMA}
COMMIT = {"kind": "commit", "run": "x", "seq": 1, "lane": "ar", "r": 1, "text": "é\n<b>&\u2028"}


def text(*lines: dict) -> str:
    return "".join(dumps(line) + "\n" for line in lines)


def test_round_trip(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(text(HEADER, COMMIT), encoding="utf-8")
    assert read_trace(path) == [HEADER, COMMIT]
    assert read_trace(str(path)) == [HEADER, COMMIT]
    assert read_trace(path.read_text(encoding="utf-8")) == [HEADER, COMMIT]


def test_a_line_stays_one_line_whatever_the_text():
    assert "\n" not in dumps(COMMIT)
    assert json.loads(dumps(COMMIT)) == COMMIT


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        dumps({"kind": "commit", "h": float("nan")})


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{}\n", "Line 1"),
        ('{"kind": 3}\n', "Line 1"),
        ("{not json\n{}", "Line 1"),
        (text(COMMIT), "header"),
        (text({"kind": "header"}), "schema"),
        (text({**HEADER, "schema": SCHEMA + 1}), f"schema {SCHEMA + 1}"),
        (text(HEADER) + "[1]\n" + text(COMMIT), "Line 2"),
        ("{" + "[" * 100_000, "Line 1"),
        (text(HEADER) + '{"kind":"commit","lane":"ar","r":1,"h":NaN}\n' + text(COMMIT), "Line 2"),
        (text(HEADER, {**COMMIT, "r": "<b>1</b>"}), "Line 2"),
        (text(HEADER, {**COMMIT, "lane": ["ar"]}), "Line 2"),
    ],
)
def test_bad_text_is_refused_in_one_sentence(source, words):
    with pytest.raises(TraceError, match=words) as caught:
        read_trace(source)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    for name, content in (("empty", b""), ("blank", b"\n \n"), ("binary", b"\xff\xfe\x00")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(TraceError):
            read_trace(path)
    with pytest.raises(TraceError, match="no such file"):
        read_trace(tmp_path / "missing")
    with pytest.raises(TraceError):
        read_trace(tmp_path)


def test_text_is_never_taken_for_a_path(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(text(HEADER), encoding="utf-8")
    with pytest.raises(TraceError, match="Line 1"):
        parse_trace(str(path))
    with pytest.raises(TraceError, match="empty"):
        parse_trace("")


def test_a_reader_that_misses_a_field_ends_in_a_sentence():
    with pytest.raises(TraceError, match=r"lacks some of its fields\."), whole_lines():
        assert HEADER["target"]
    with pytest.raises(TraceError, match="schema"), whole_lines():
        parse_trace(text({"kind": "header"}))


def test_unknown_kinds_become_a_notice():
    strange = {"kind": "weather", "run": "x", "seq": 1}
    lines = read_trace(text(HEADER, strange, COMMIT))
    assert [line["kind"] for line in lines] == ["header", "notice", "commit"]
    assert lines[1]["code"] == "unknown-kind"
    assert "weather" in lines[1]["text"]


def test_unknown_fields_are_kept():
    assert read_trace(text({**HEADER, "later": [1]}))[0]["later"] == [1]


def test_a_line_cut_off_at_the_end_becomes_a_notice():
    lines = read_trace(text(HEADER, COMMIT) + '{"kind":"comm')
    assert lines[:2] == [HEADER, COMMIT]
    assert lines[2]["code"] == "cut-short"


PREFILL = {"kind": "prefill", "run": "x", "seq": 1, "lane": "ar"}
OTHER = {"kind": "commit", "run": "x", "seq": 2, "lane": "glance", "r": 1, "tokens": [{}] * 7}
OWN = {**OTHER, "lane": "ar", "tokens": [{}, {}]}
GROUNDING = {"kind": "grounding", "run": "x", "seq": 4, "lane": "ar", "copy": [], "head": None}
PLACES = {"box": [[0.0, 0.0, 0.5, 0.25]] * 3, "share": [0.1, 0.2, 0.3]}


@pytest.mark.parametrize("more", [{}, {"gain": [0.0, -1.5, 2.0]}, {"gain": [1.0] * 3, **PLACES}])
def test_grounding_of_an_answer_of_three_tokens(more):
    lines = [HEADER, PREFILL, OTHER, OWN, {**GROUNDING, **more}]
    assert read_trace(text(*lines)) == lines


@pytest.mark.parametrize(
    "more",
    [
        {"gain": [0.0, 1.0]},
        {"gain": [0.0] * 4},
        {"gain": 3.0},
        {"gain": [0.0] * 3, **PLACES, "box": []},
        {"gain": [0.0] * 3, **PLACES, "share": [0.5]},
    ],
)
def test_grounding_of_other_tokens_is_refused(more):
    with pytest.raises(TraceError, match=r"Line 5 .* other tokens"):
        read_trace(text(HEADER, PREFILL, OTHER, OWN, {**GROUNDING, **more}))


def test_the_command_can_be_pasted(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/x/glance/__main__.py", "ask", "a b.png", "What's $5?"])
    words = shlex.split(provenance()["command"])
    assert words == ["python", "-m", "glance", "ask", "a b.png", "What's $5?"]


def test_provenance_names_versions():
    found = provenance()
    assert set(found) == {"machine", "git", "versions", "command"}
    # nothing where this is no repository, or git is missing
    assert re.fullmatch(r"([0-9a-f]{40}(-dirty)?)?", found["git"])
    assert found["machine"]["cpu"]
    assert found["machine"]["cores"] >= 1
    assert {"python", "torch", "transformers"} <= set(found["versions"])
