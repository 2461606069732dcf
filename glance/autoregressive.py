"""Plain decoding, one target pass a token: the baseline, by the same rules in the same engine.

Its clock carries no instrumentation: entropy, margin, the best few tokens and the text, which are
there to be shown, are worked out while the watch stands still. A drafted round pays for its own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from glance.entropy import row_stats
from glance.lane import Lane
from glance.sampling import Sampler
from glance.targets.base import Request
from glance.trace import Line


class PlainRounds:
    """The rounds of one request, each of one token."""

    def __init__(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        forward: Callable[..., tuple[Tensor, Tensor | None]],  # as `Target.forward`
    ) -> None:
        """After prefill."""
        self._forward = forward
        self._lane = lane
        self._request = request
        self._sampler = sampler
        # depth 0, one row
        self._depths = torch.zeros(1, dtype=torch.long, device=lane.target.device)
        self._since = 0.0  # the decode window is accounted for up to here

    @torch.inference_mode()
    def round(self) -> list[Line]:
        """Commit one token: a commit line, whose `ms` is the target pass."""
        lane, request = self._lane, self._request
        assert request.cache.get_seq_length() == request.length
        began = lane.watch.read()
        ids = torch.full_like(self._depths, lane.answer[-1])
        logits, _ = self._forward(request, ids, self._depths)
        token_id = self._sampler.pick(logits[0])
        passed = lane.watch.read()
        lane.watch.stop()
        lane.admit([token_id])
        tokens, text = lane.commit([token_id], ["target"], row_stats(logits), [0])
        lane.watch.start()
        request.length += 1
        lane.target_passes += 1
        lane.rounds += 1
        lane.committed.append(1)
        ended = lane.watch.read()
        other = (began - self._since) + (ended - passed)
        self._since = ended
        lane.ms["verify"] += passed - began
        lane.ms["other"] += other
        line = lane.line(
            "commit",
            ended,
            r=lane.rounds,
            ms=round(passed - began, 3),
            tokens=tokens,
            text=text,
            cache=request.length,
            other=round(other, 3),
        )
        return [line]
