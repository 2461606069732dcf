"""ngram-page-oracle: is the drafter more than a copying machine?

Three drafters without weights on the same answers: `ngram` (prompt lookup, three tokens at most to
find the place), the same with the page's true text before the prompt, and one that looks up the
longest match there, 32 tokens at most. The last two are told what the target has to read: no
drafter could have them. Where one token is one character, three are little to go by: the longest
match is the fair rival.

Claim: on grounded tasks the drafter commits more a round than a copy of the page does, as it need
not find the place first. Refuted if the longest match commits more: if the whole 95% interval of
the difference of tau lies below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from torch import Tensor

from glance.bench_rows import GROUNDED
from glance.drafters.base import Drafter
from glance.drafters.ngram import DRAFTED, NgramDrafter, NgramState, chain
from glance.forced import read
from glance.probes.asked import Setup, asked
from glance.probes.outcome import Outcome, Row, Table, above
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Round, Shape, replay
from glance.types import CandidateTree

LONGEST = 32  # tokens that are looked up
LANES = DRAFTER, _, _, LONG = "drafter", "ngram", "ngram with page", "longest with page"


class PageNgram(NgramDrafter):
    """`ngram` with a text before the prompt."""

    def __init__(self, image_token_id: int, page: Sequence[int]) -> None:
        """`page` is the text's ids."""
        super().__init__(image_token_id)
        self._page = list(page)

    def draft(self, state: NgramState, out: list[int], features: Tensor | None) -> CandidateTree:
        """What followed the last few tokens, on the page too."""
        return super().draft(state, [*self._page, *out], features)


class LongestMatch(PageNgram):
    """What followed the longest earlier occurrence of the last tokens, the latest of these."""

    def draft(self, _state: NgramState, out: list[int], _features: Tensor | None) -> CandidateTree:
        """A chain of at most `DRAFTED` tokens after `out[-1]`."""
        known = [*self._page, *out]
        text = "".join(map(chr, known))  # strings are searched fast
        for size in range(min(LONGEST, len(text) - 1), 0, -1):
            at = text.rfind(text[-size:], 0, -1)
            if at >= 0:
                follow = known[at + size : at + size + DRAFTED]
                return chain(out[-1], list(takewhile(lambda i: i != self.image_token_id, follow)))
        return chain(out[-1], [])


def run(setup: Setup) -> Outcome:
    """Every answer with the drafter and the three copiers."""
    image = setup.target.model.config.image_token_id
    found: dict[str, list[Round]] = {name: [] for name in LANES}
    for one in asked(setup):
        text = next(q.answer for q in one.page.questions if q.task == "transcribe")
        page = setup.target.tokenizer(text, add_special_tokens=False)["input_ids"]
        lanes: list[Drafter] = [
            setup.drafter,
            NgramDrafter(image),
            PageNgram(image, page),
            LongestMatch(image, page),
        ]
        states = read(setup.target, one.prompt, one.answer, setup.drafter.taps)
        for rounds, drafter in zip(found.values(), lanes, strict=True):
            rounds += replay(drafter, states, one, {"": Shape(setup.node_budget)})[""]
    sample = Resampled(found[DRAFTER])
    rows: list[Row] = [
        {"task": name, **{lane: estimate(sample.tau(of(found[lane], tasks))) for lane in found}}
        for name, tasks in groups(found[DRAFTER]).items()
    ]
    grounded = {lane: sample.tau(of(rounds, set(GROUNDED))) for lane, rounds in found.items()}
    ahead = estimate(grounded[DRAFTER] - grounded[LONG])
    claim = "on grounded tasks the drafter commits more than a copy of the page"
    return Outcome([Table("tau", rows)], [above(claim, f"tau, {DRAFTER} less {LONG}", ahead)])
