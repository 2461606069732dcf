"""What a run's trace says to a reader: the answer, a table of lanes, whether they agree.

Reads trace lines only, so a run that just ended and one from a file look the same. No torch.
"""

from __future__ import annotations

from typing import Any

from glance.budget import used_words
from glance.cli.output import Cell, show, show_table
from glance.drafters.load import PLAIN
from glance.metrics import Speedup, speedup
from glance.replay import RecordedLane, Round, lanes
from glance.trace import Line

LANE_HEADS = (
    "lane",
    "tokens",
    "rounds",
    "target passes",
    "tau",
    "prefill ms",
    "decode ms",
    "tok/s",
)
ROUND_HEADS = ("drafted", "accepted", "committed", "entropy", "ms", "text")


def summary(lines: list[Line]) -> dict[str, Any]:
    """A run as one JSON value: question, notices, answers, the lanes' totals, the comparisons."""
    header, recorded = lines[0], lanes(lines)
    return {
        "question": header["prompt"]["question"],
        "history": header["prompt"].get("history", []),
        "notices": [line["text"] for line in lines if line["kind"] == "notice"],
        "answers": {name: lane.text for name, lane in recorded.items()},
        "lanes": [_bare(lane.finish) for lane in recorded.values() if lane.finish],
        "compare": [_bare(line) for line in lines if line["kind"] == "compare"],
        "image": header["image"],
        "second_image": header.get("second_image"),
        "target": header["target"],
        "drafter": header["drafter"],
        "settings": header["settings"],
        "created": header["created"],
        "provenance": header["provenance"],
    }


def show_run(lines: list[Line]) -> None:
    """Print the answer, the table of lanes, and how they compare."""
    recorded = list(lanes(lines).values())
    settings = lines[0]["settings"]
    verb = "drew" if settings["temperature"] else "gave"
    for lane in recorded:
        if lane is recorded[0]:
            show(lane.text)
        elif lane.text != recorded[0].text:
            show(f"{lane.name} {verb} another answer:")
            show(lane.text)
    rows = [_lane_row(lane) for lane in recorded if lane.finish]
    if rows:
        show()
        show_table(LANE_HEADS, rows)
    plain = next((lane for lane in recorded if lane.name == PLAIN), None)
    for lane in recorded:
        times = speedup(plain, lane) if plain and lane is not plain else None
        if times:
            show(_speedup(lane, times))
    for lane in recorded:
        if lane.prefill and lane.prefill.get("reused"):
            read, of = lane.prefill["reused"], lane.prefill["cache"]
            show(f"{lane.name}: reused {read:,} of {of:,} prompt rows of the question before.")
        if lane.finish and "uncertified" in lane.finish:
            show(_uncertified(lane.name, lane.finish, lines[0]["target"]))
    for lane in recorded:
        used = used_words(settings, lane)
        if used:
            show(f"Node budget of {lane.name}: {used}.")
    if settings["temperature"]:
        show(_sampled(settings, len(recorded)))
    for line in lines:
        if line["kind"] == "compare":
            show(_comparison(line))
    for lane in recorded:
        if lane.finish and lane.finish["reason"] == "length":
            show(f"{lane.name}: cut off at {lane.finish['tokens']} tokens, the limit.")


def show_rounds(lines: list[Line]) -> None:
    """Print one row a round of every lane that drafts."""
    for lane in lanes(lines).values():
        rows = [_round_row(round_) for round_ in lane.rounds if "build" in round_.lines]
        if rows:
            show()
            show_table((lane.name, *ROUND_HEADS), rows)


def _bare(line: Line) -> Line:
    return {key: value for key, value in line.items() if key not in ("kind", "run", "seq", "t")}


def _lane_row(lane: RecordedLane) -> list[Cell]:
    finish = lane.finish
    assert finish is not None
    return [
        lane.name,
        finish["tokens"],
        finish["rounds"],
        finish["target_passes"],
        None if lane.name == PLAIN else finish["tau"],
        finish["prefill_ms"],
        finish["decode_ms"],
        finish["tok_s"]["decode"],
    ]


def _speedup(lane: RecordedLane, times: Speedup) -> str:
    return (
        f"Speed of {lane.name} against {PLAIN}: {times.decode:.2f}x in decoding, "
        f"{times.end_to_end:.2f}x with the prefill."
    )


def _uncertified(name: str, finish: Line, target: dict[str, Any]) -> str:
    return (
        f"In {target['dtype']} {finish['uncertified']} of the {finish['tokens']} tokens of {name} "
        f"are uncertified: their two best logits are within {2 * target['bound']:.2g}, which "
        "rounding can swap."
    )


def _sampled(settings: dict[str, Any], lanes: int) -> str:
    drawn = f"Drawn at temperature {settings['temperature']:g} with seed {settings['seed']}"
    if lanes < 2:
        return f"{drawn}."
    return f"{drawn}: every lane from the same distribution, so answers may differ."


def _comparison(line: Line) -> str:
    names = " and ".join(line["lanes"])
    if line["state"] == "equal":
        return f"Same answer from {names}: {line['equal']} of {line['of']} token ids equal."
    where = f"the first difference is at token {line['at']} of {line['of']}"
    gap = "" if line["gap"] is None else f", where the two best logits are {line['gap']:.2g} apart"
    name = "Near tie" if line["state"] == "near_tie" else "Different answers"
    return f"{name} between {names}: {where}{gap}."


def _round_row(round_: Round) -> list[Cell]:
    verbs = round_.lines
    spent = sum(line.get("ms", 0.0) for line in verbs.values()) + round_.commit["other"]
    return [
        f"round {round_.number}",
        len(verbs["build"]["tree"]["id"]) - 1,
        round_.accepted,
        len(round_.commit["tokens"]),
        verbs["verify"]["h"][0],
        spent,
        repr(round_.commit["text"]),
    ]
