"""What a run showed, in plain words: the badge, one headline, and the counts behind it."""

from __future__ import annotations

from typing import Any

from app.format import count, lane_name, milliseconds, ratio
from app.views.lanes import first
from glance.budget import used_words
from glance.replay import RecordedLane, lanes
from glance.trace import Line

Summary = dict[str, Any]

COMPARED_LATER = "Compared when both have ended."
SHORT = 10  # tokens; over fewer, what drafting saves is lost in the reading of the page
ROUND = "tokens committed by one pass of the target (τ)"

ENDINGS = {
    "length": "Cut at the token limit.",
    "stop": "Ended at a stop token.",
    "cancelled": "The run was stopped.",
    "error": "The run ended with an error.",
}


def summary(lines: list[Line], *, ended: bool = True) -> Summary:
    """Badge, headline and facts of a trace, as plain values for the page.

    Args:
        lines: of the trace.
        ended: whether no more of it will come, which lanes without a finish do not tell.

    Returns:
        {"run", "badge": {"state", "text", "detail"}, "headline", "facts": [{"label", "value",
        "note"}]}; everything in it is text and may hold characters of the document.
    """
    found = lanes(lines)
    drafting = next((lane for lane in found.values() if lane.name != "ar"), None)
    other = found.get("ar") or next((lane for lane in found.values() if lane is not drafting), None)
    header = first(lines, "header")
    temperature = header["settings"]["temperature"] if header else 0.0
    return {
        "run": lines[0].get("run", "") if lines else "",
        "badge": _drawn_badge(temperature, found) if temperature else _badge(lines, found, ended),
        "headline": _headline(drafting, None if temperature and drafting else other, ended),
        "facts": _facts(drafting, other) + _budget(lines, drafting),
    }


def _badge(lines: list[Line], found: dict[str, RecordedLane], ended: bool) -> dict[str, str]:
    compare = first(lines, "compare")
    if compare is None:
        done = bool(found) and all(lane.finish for lane in found.values())
        why = "The run was stopped before it came to that." if ended else COMPARED_LATER
        if done:
            why = f"Run two lanes to compare their answers. {_ending(found)}".rstrip()
        return {"state": "unchecked", "text": "Not checked", "detail": why}
    of = compare["of"]
    if compare["state"] == "equal":
        detail = f"Both lanes wrote the same token ids. {_ending(found)}".rstrip()
        return {"state": "equal", "text": f"Lossless: {of}/{of} tokens equal", "detail": detail}
    at, gap = compare.get("at"), compare.get("gap")
    if compare["state"] == "near_tie":
        detail = (
            f"The answers part at token {at}, where the target's two best tokens are "
            f"{gap:.2g} apart in {compare.get('dtype', 'its arithmetic')}: rounding decides there."
        )
        return {"state": "near_tie", "text": f"Near-tie at token {at}", "detail": detail}
    detail = f"The answers part at token {at}: this should not happen. The trace has the details."
    return {"state": "mismatch", "text": f"Mismatch at token {at}", "detail": detail}


def _drawn_badge(temperature: float, found: dict[str, RecordedLane]) -> dict[str, str]:
    """Two draws need not be equal: neither praise nor blame."""
    detail = f"Every token is a draw from the target's own distribution. {_ending(found)}".rstrip()
    text = f"Drawn at temperature {temperature:g}: lanes are not compared"
    return {"state": "unchecked", "text": text, "detail": detail}


def _ending(found: dict[str, RecordedLane]) -> str:
    """Why the answer ended, unless it simply came to its end."""
    reasons = [lane.finish["reason"] for lane in found.values() if lane.finish]
    return ENDINGS.get(reasons[0], "") if reasons else ""


def _headline(drafting: RecordedLane | None, other: RecordedLane | None, ended: bool) -> str:
    lane = drafting or other
    if not ended and (lane is None or lane.finish is None):
        return "The summary appears when the run has ended."
    if lane is None:
        return "Stopped before the first token."
    if lane.finish is None:
        passes = count(len(lane.rounds), "target pass")
        return f"Stopped after {count(len(lane.tokens), 'token')} in {passes}."
    done = lane.finish
    passes = count(done["target_passes"], "target pass")
    if not done["target_passes"]:
        sentence = f"{count(done['tokens'], 'token')}, known as soon as the page was read."
    elif drafting is None:
        sentence = f"{count(done['tokens'], 'token')} in {passes}: one pass a token."
    elif other is None or other.finish is None:
        sentence = f"{count(done['tokens'], 'token')} in {passes}."
    else:
        sentence = (
            f"{count(done['tokens'], 'token')} in {passes} instead of "
            f"{other.finish['target_passes']:,}."
        )
    if drafting and done["tokens"] < SHORT and done["reason"] not in ("cancelled", "error"):
        sentence += " Too short to gain: reading takes far longer than so few tokens."
    return sentence


def _facts(drafting: RecordedLane | None, other: RecordedLane | None) -> list[dict[str, str]]:
    facts = []
    done = drafting.finish if drafting else None
    base = other.finish if other else None
    if drafting and other and done and base:
        names = f"{lane_name(drafting.name)} / {lane_name(other.name)}"
        rounds = f"{done['tau']:.2f}" + (f" / {base['tau']:.2f}" if other.name != "ar" else "")
        facts.append(_fact("Tokens a round", rounds, ROUND))
        passes = f"{done['target_passes']:,} / {base['target_passes']:,}"
        facts.append(_fact("Target passes", passes, names))
        for window, name, note in (
            ("decode", "Decode speed-up", "first token to last"),
            ("end_to_end", "End-to-end speed-up", "with the reading of the page"),
        ):
            fast, slow = done["tok_s"][window], base["tok_s"][window]
            if fast and slow:
                note = f"{note}; {fast:.0f} against {slow:.0f} tokens/s"
                facts.append(_fact(name, ratio(fast / slow), note))
    elif done or base:
        lane = done or base
        assert lane is not None
        if done:
            facts.append(_fact("Tokens a round", f"{done['tau']:.2f}", ROUND))
        facts.append(_fact("Target passes", f"{lane['target_passes']:,}", "after the prefill"))
        if lane["tok_s"]["decode"]:
            value = f"{lane['tok_s']['decode']:.0f} tokens/s"
            facts.append(_fact("Decode speed", value, "from the first token to the last"))
    prefills = [lane.prefill for lane in (drafting, other) if lane and lane.prefill]
    if prefills:
        facts.append(_fact("Prefill", milliseconds(prefills[0]["ms"]), _read(prefills[0])))
    return facts


def _read(prefill: Line) -> str:
    """What the time before the first token went into."""
    reused = prefill.get("reused", 0)
    if not reused:
        return "reading page and question, before the first token"
    words = f"reused {reused:,} of {prefill['cache']:,} prompt rows of the question before"
    saved = prefill.get("saved")
    return f"{words}: {milliseconds(saved)} saved" if saved else words


def _budget(lines: list[Line], drafting: RecordedLane | None) -> list[dict[str, str]]:
    header = first(lines, "header")
    used = used_words(header["settings"], drafting) if header and drafting else None
    note = "candidates a round, chosen by what they promise and cost"
    return [_fact("Node budget", used, note)] if used else []


def _fact(label: str, value: str, note: str) -> dict[str, str]:
    return {"label": label, "value": value, "note": note}
