"""The table of rounds: what each cell says, and that no cell is taken for a formula."""

import csv
import io

import pytest

from glance.rounds_csv import HEADER, rounds_csv

TOKEN = {"id": 1, "start": 0, "end": 1, "origin": "target", "h": 0.25}


def trace(text: str = "ab", lane: str = "glance") -> list[dict]:
    """A drafting round that accepts one of two candidates, and a plain one."""
    place = {"lane": lane, "r": 1}
    plain = {"lane": "ar", "r": 1, "ms": 7.5, "other": 0.5, "tokens": [TOKEN], "text": "a"}
    return [
        {"kind": "header"},
        {"kind": "draft", **place, "ms": 1.0},
        {"kind": "build", **place, "ms": 2.0, "tree": {"parent": [-1, 0, 0]}},
        {"kind": "verify", **place, "ms": 3.0},
        {"kind": "accept", **place, "ms": 4.0},
        {
            "kind": "commit",
            **place,
            "ms": 5.0,
            "other": 6.0,
            "tokens": [{**TOKEN, "origin": "drafted", "h": 1.5}, {**TOKEN, "origin": "bonus"}],
            "text": text,
        },
        {"kind": "draft", **place, "r": 2, "ms": 1.0},
        {"kind": "commit", **plain},
    ]


def rows(lines: list[dict]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(rounds_csv(lines), newline="")))


def test_a_row_for_every_whole_round_and_lane():
    drafting, plain = rows(trace())
    assert drafting == {
        "round": "1",
        "lane": "glance",
        "nodes": "2",
        "accepted": "1",
        "committed": "2",
        "entropy_at_root": "1.5",
        "draft_ms": "1.0",
        "build_ms": "2.0",
        "verify_ms": "3.0",
        "accept_ms": "4.0",
        "commit_ms": "5.0",
        "other_ms": "6.0",
        "text": "ab",
    }
    assert (plain["lane"], plain["nodes"], plain["accepted"]) == ("ar", "", "0")
    # the one line of a plain round times its target pass
    assert (plain["verify_ms"], plain["commit_ms"], plain["other_ms"]) == ("7.5", "", "0.5")


def test_a_trace_without_rounds_is_a_header_alone():
    assert rounds_csv([{"kind": "header"}]) == ",".join(HEADER) + "\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-2",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "  =1",
        "\uff1d1",
        "=cmd|' /C calc'!A0",
    ],
)
def test_text_that_a_spreadsheet_might_run_gets_an_apostrophe(text):
    first, _ = rows(trace(text=text, lane=text))
    assert first["text"] == first["lane"] == f"'{text}"


@pytest.mark.parametrize(
    "text", ['a "b", c', "a\nb", "1-2", "<b>&</b>", "", "Straße €", "'quoted'"]
)
def test_other_text_comes_back_as_it_is(text):
    assert rows(trace(text=text))[0]["text"] == text


def test_a_number_that_is_none_is_text_like_any_other():
    lines = trace()
    lines[1]["ms"] = "=2"
    lines[5]["other"] = -0.5  # a negative number is no formula
    first, _ = rows(lines)
    assert first["draft_ms"] == "'=2"
    assert first["other_ms"] == "-0.5"
