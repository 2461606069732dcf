"""copy-runs: are spans that stand verbatim on the page drafted better than the law allows?

A copy run is a span of the answer, four characters or more, that stands on the page as it is (white
space aside; longest spans first come first, none overlap). A round is inside where the first token
that it drafts belongs to a run. The law is fitted to all rounds of all tasks asked; its ceiling for
a round is what it expects of a target without any doubt, H = 0, with the same room.

Claim: inside copy runs of grounded tasks rounds accept more than the law's ceiling, since a block
copies a whole stretch at once. Refuted if the whole 95% interval of mean a inside less the ceiling
lies below 0; not settled while it has 0 in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from glance.bench_rows import GROUNDED
from glance.documents.page import Page
from glance.forced import read
from glance.ground import copied_spans
from glance.lane import TextStream
from glance.law import Law
from glance.probes.asked import Setup, asked
from glance.probes.outcome import Outcome, Row, Table, above
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Round, Shape, replay
from glance.targets.base import Target

Span = tuple[int, int]  # tokens of the answer, from and to


def run(setup: Setup) -> Outcome:
    """Runs of every answer, and the rounds in and out of them."""
    inside: list[Round] = []
    outside: list[Round] = []
    by_task: dict[str, list[tuple[int, list[Span]]]] = {}  # length of each answer, its runs
    for one in asked(setup):
        runs = copy_runs(setup.target, one.answer, one.page)
        by_task.setdefault(one.question.task, []).append((len(one.answer), runs))
        states = read(setup.target, one.prompt, one.answer, setup.drafter.taps)
        for made in replay(setup.drafter, states, one, {"": Shape(setup.node_budget)})[""]:
            (inside if in_run(made, runs) else outside).append(made)
    rounds = inside + outside
    sample = Resampled(rounds)
    laws = sample.laws(rounds)
    grounded = of(inside, set(GROUNDED))
    over = sample.accepted(grounded) - sample.expected(grounded, laws, sure=True)
    claim = "inside copy runs of grounded tasks rounds pass the law's ceiling"
    rows = [
        _rounds_row(sample, laws, name, of(inside, tasks), of(outside, tasks))
        for name, tasks in groups(rounds).items()
    ]
    return Outcome(
        [
            Table("copy runs", [_runs_row(task, found) for task, found in by_task.items()]),
            Table(
                "rounds inside and outside of them; law: the mean a that it expects inside", rows
            ),
        ],
        [above(claim, "mean a inside less the ceiling", estimate(over))],
    )


def copy_runs(target: Target, answer: Sequence[int], page: Page) -> list[Span]:
    """Spans of the answer's tokens whose text stands on the page."""
    stream, text = TextStream(target.decode_text), ""
    tokens = []
    for at, token_id in enumerate(answer):
        start, end, piece = stream.push(token_id, last=at == len(answer) - 1)
        tokens.append({"start": start, "end": end})
        text += piece
    glyphs = [{"char": glyph.char, "box": list(glyph.box)} for glyph in page.glyphs]
    found = copied_spans(tokens, text, glyphs, page.image.size)
    return [(span["tokens"][0], span["tokens"][1]) for span in found]


def in_run(made: Round, runs: Sequence[Span]) -> bool:
    """Whether the first token that the round drafts belongs to a run."""
    return any(begin <= made.at + 1 < end for begin, end in runs)


def _runs_row(task: str, found: Sequence[tuple[int, list[Span]]]) -> Row:
    tokens = sum(length for length, _ in found)
    lengths = [end - begin for _, runs in found for begin, end in runs]
    return {
        "task": task,
        "answers": len(found),
        "tokens": tokens,
        "copied %": 100 * sum(lengths) / tokens,
        "runs": len(lengths),
        "mean length": sum(lengths) / len(lengths) if lengths else None,
        "longest": max(lengths, default=None),
    }


def _rounds_row(
    sample: Resampled,
    laws: Sequence[Law],
    name: str,
    inside: Sequence[Round],
    outside: Sequence[Round],
) -> Row:
    law = estimate(sample.expected(inside, laws))
    ceiling = sample.expected(inside, laws, sure=True)
    return {
        "task": name,
        "in": len(inside),
        "tau in": estimate(sample.tau(inside)),
        "out": len(outside),
        "tau out": estimate(sample.tau(outside)),
        "law": law.value if law else None,
        "a less ceiling": estimate(sample.accepted(inside) - ceiling),
    }
