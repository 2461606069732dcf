"""Spans of an answer that stand on the page."""

import pytest

from glance.ground import copied_spans


def glyphs(text: str, y: float = 10.0) -> list[dict]:
    """Characters 10 wide and 20 high, side by side; a line break starts a line 30 lower."""
    found, x = [], 0.0
    for char in text:
        if char == "\n":
            x, y = 0.0, y + 30.0
            continue
        found.append({"char": char, "box": [x, y, x + 10, y + 20]})
        x += 10
    return found


def tokens(text: str, size: int = 1) -> list[dict]:
    return [{"start": at, "end": min(at + size, len(text))} for at in range(0, len(text), size)]


def test_a_copied_value_and_its_place():
    answer = "It is 48.20 in all"
    [span] = copied_spans(tokens(answer), answer, glyphs("Total 48.20"), (200, 100))
    assert span["tokens"] == [6, 11]
    assert span["boxes"] == [[0.3, 0.1, 0.55, 0.3]]
    assert (span["source"], span["approximate"], span["confidence"]) == ("layout", False, 1.0)


def test_a_span_over_two_lines_has_a_box_for_each():
    answer = "abcd efgh"
    [span] = copied_spans(tokens(answer), answer, glyphs("abcd\nefgh"), (100, 100))
    assert span["tokens"] == [0, 9]
    assert span["boxes"] == [[0.0, 0.1, 0.4, 0.3], [0.0, 0.4, 0.4, 0.6]]


def test_short_spans_are_chance():
    assert copied_spans(tokens("xyabc"), "xyabc", glyphs("abc 123"), (100, 100)) == []


def test_tokens_of_several_characters():
    answer = "xx4820yy"
    [span] = copied_spans(tokens(answer, 3), answer, glyphs("4820"), (100, 100))
    assert span["tokens"] == [0, 2]


def test_several_places_lower_the_confidence():
    answer = "1234"
    [span] = copied_spans(tokens(answer), answer, glyphs("1234 1234"), (100, 100))
    assert span["confidence"] == 0.5
    assert span["boxes"][0][0] == 0.0


@pytest.mark.parametrize(("answer", "page"), [("", "abcd"), ("abcd", ""), ("abc", "abc")])
def test_nothing_to_find(answer, page):
    assert copied_spans(tokens(answer), answer, glyphs(page), (10, 10)) == []
