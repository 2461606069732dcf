"""`law`: the entropy law fitted to recorded runs. No model, no torch."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from glance.cli.output import Cell, live, note, show, show_table, write_json
from glance.law_checks import CONDITIONS, MIDDLE, Checked, check, histogram, middle_share
from glance.law_pages import Difference, difference
from glance.law_picture import draw
from glance.law_rounds import POOLED, UNGROUNDED, Group, LawError, groups, recorded
from glance.trace import DAMAGE, Line, TraceError, provenance, read_trace

HEADS = ("group", "pages", "rounds", "cut", "mean a", "copied", "b0", "b1", "95%", "holds")
CHECK_HEADS = ("group", "R2 round", "ceiling", "R2 decile", "held out", "rho", "p")
DECILE_HEADS = ("mean H", "rounds", "mean a", "95%", "law", "flat")
LEGEND = """\
logit p = b0 - b1 H, H in nats at the root row; a: accepted drafted tokens of a round
cut: rounds with less room than the block, as the answer ends; copied: % of tokens in copy mode
R2: share of the squared error of one p for all rounds; ceiling: R2 of the best function of H
held out: R2 by round on half the pages, fitted on the others; rho: Spearman, H against a
95%: bootstrap over pages; holds: the paper's conditions, or the numbers of those that fail:
"""


def run(options: Namespace) -> int:
    """Print the fit of every group, the deciles of the pooled one and where H lies."""
    paths = list(_files(options.traces))
    try:
        found = recorded(_read(path) for path in paths)
    except DAMAGE as error:
        raise TraceError(f"A trace lacks a field that its schema asks for: {error}.") from error
    rounds = found.rounds
    fitted: dict[str, Checked] = {}
    by_name = groups(found)
    for name, group in by_name.items():
        live(f"fitting {name}")
        fitted[name] = check(group.rounds)
    steeper = _steeper(by_name)
    show(found.made_by)
    _show(by_name, fitted, steeper)
    shares, middle = histogram(rounds.entropy), middle_share(rounds.entropy)
    show("rounds by H, nats")
    rows = [(f"{low:g}", f"{high:g}", 100 * share) for low, high, share in shares]
    show_table(("from", "below", "%"), rows)
    low, high = MIDDLE
    show(f"{100 * middle:.1f}% of rounds lie between {low:g} and {high:g} nats; a fit needs 20%.")
    show()
    show(LEGEND.rstrip())
    for place, words in enumerate(CONDITIONS, start=1):
        show(f"  {place}  {words}")
    result = {
        "made_by": found.made_by,
        "traces": len(paths),
        "block": int(rounds.room.max()),
        "groups": {
            name: {**asdict(one), "copied": by_name[name].copied, "holds": one.holds}
            for name, one in fitted.items()
        },
        "grounded_minus_other": asdict(steeper) if steeper else None,
        "histogram": [
            {"from": low, "below": high if high < float("inf") else None, "share": share}
            for low, high, share in shares
        ],
        "middle": {"from": MIDDLE[0], "to": MIDDLE[1], "share": middle},
        "provenance": provenance(),
    }
    write_json(options.json, result)
    if options.svg:
        pooled = fitted[POOLED]
        if pooled.law is None or not pooled.deciles:
            raise LawError("There are too few rounds to draw a law.")
        title = f"Accepted drafted tokens by the target's entropy, {pooled.rounds:,} rounds"
        drawing = draw(pooled.law, pooled.deciles, int(rounds.room.max()), title)
        options.svg.write_text(drawing, encoding="utf-8")
        note(f"wrote {options.svg}")
    return 0


def _files(given: Sequence[Path]) -> Iterator[Path]:
    """Files as they are, folders as the traces in them."""
    for path in given:
        yield from sorted(path.glob("*.jsonl")) if path.is_dir() else [path]


def _read(path: Path) -> list[Line]:
    live(f"reading {path}")
    return read_trace(path)


def _steeper(by_name: Mapping[str, Group]) -> Difference | None:
    if not {"grounded", UNGROUNDED} <= set(by_name):
        return None
    live("comparing grounded tasks with the others")
    return difference(by_name["grounded"].rounds, by_name[UNGROUNDED].rounds)


def _show(
    by_name: Mapping[str, Group], fitted: Mapping[str, Checked], steeper: Difference | None
) -> None:
    show_table(HEADS, [_row(name, by_name[name], one) for name, one in fitted.items()])
    show()
    show_table(CHECK_HEADS, [_checks(name, one) for name, one in fitted.items() if one.law])
    show()
    if steeper:
        ci = _interval(steeper.ci)
        show(f"b1 of grounded tasks less that of the others: {steeper.b1:.2f} (95%: {ci or '-'})")
        show()
    deciles = fitted[POOLED].deciles
    if deciles:
        show("pooled, by deciles of H")
        rows = [
            (one.entropy, one.rounds, one.accepted, _interval(one.ci), one.expected, one.flat)
            for one in deciles
        ]
        show_table(DECILE_HEADS, rows)
        show()


def _row(name: str, group: Group, one: Checked) -> list[Cell]:
    return [
        name,
        one.pages,
        one.rounds,
        one.cut,
        one.mean_accepted,
        None if group.copied is None else 100 * group.copied,
        one.law.b0 if one.law else None,
        one.law.b1 if one.law else None,
        _interval(one.b1_ci),
        _verdict(one),
    ]


def _verdict(one: Checked) -> str | None:
    if one.conditions is None:
        return None
    missed = [str(place) for place, met in enumerate(one.conditions.values(), start=1) if not met]
    return f"no: {','.join(missed)}" if missed else "yes"


def _checks(name: str, one: Checked) -> list[Cell]:
    p = None if one.rho_p is None else f"{one.rho_p:.1g}"
    return [name, one.r2_rounds, one.ceiling, one.r2_deciles, one.held_out, one.rho, p]


def _interval(ci: tuple[float, float] | None) -> str | None:
    return None if ci is None else f"{ci[0]:.2f} to {ci[1]:.2f}"
