"""Muon for the matrices of the layers, AdamW for everything else, as one optimizer.

In the first stage of the target's training Muon needed about half the steps that AdamW alone
did for the same share of characters (docs/log.md).
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from glance.together import average_gradients

STATE = ("step", "exp_avg", "exp_avg_sq", "momentum_buffer")
MUON = 2.5  # Muon's learning rate, as a multiple of AdamW's

Named = Iterable[tuple[str, nn.Parameter]]


class MuonAdamW:
    """Groups of parameters with a learning rate each."""

    def __init__(
        self,
        groups: Sequence[Sequence[nn.Parameter]],
        layers: Iterable[nn.Module],  # whose two-dimensional weights Muon takes
        weight_decay: float = 0.02,
    ) -> None:
        chosen = {id(p) for module in layers for p in module.parameters() if p.ndim == 2}
        self._parameters = [p for group in groups for p in group]
        matrices = [{"params": [p for p in group if id(p) in chosen]} for group in groups]
        others = [{"params": [p for p in group if id(p) not in chosen]} for group in groups]
        self._muon = torch.optim.Muon(
            matrices, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"
        )
        self._adamw = torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=weight_decay)

    def step(self, losses: Iterable[Tensor], rates: Sequence[float]) -> None:
        """Backward of each loss in turn, gradients of their sum clipped to norm 1, one update.

        `rates`: AdamW's, one a group.
        """
        for optimizer, scale in ((self._muon, MUON), (self._adamw, 1.0)):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * scale
            optimizer.zero_grad()
        for loss in losses:
            loss.backward()
        average_gradients(self._parameters)
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._muon.step()
        self._adamw.step()

    def tensors(self, named: Named) -> dict[str, Tensor]:
        """Parameters and optimizer state by name, for a checkpoint."""
        found: dict[str, Tensor] = {}
        for name, p in named:
            found[name] = p.detach().cpu().clone()
            for optimizer in (self._muon, self._adamw):
                for key, value in optimizer.state.get(p, {}).items():
                    found[f"{name}#{key}"] = value.detach().cpu().clone()
        return found

    def load(self, named: Named, tensors: dict[str, Tensor]) -> None:
        """Put back what `tensors` gave.

        Raises:
            KeyError: a parameter is missing.
        """
        owner = {
            id(p): optimizer
            for optimizer in (self._muon, self._adamw)
            for group in optimizer.param_groups
            for p in group["params"]
        }
        for name, p in named:
            p.data.copy_(tensors[name])
            state = {k: tensors[f"{name}#{k}"] for k in STATE if f"{name}#{k}" in tensors}
            if state:
                owner[id(p)].state[p] = {
                    k: v if k == "step" else v.to(p.device) for k, v in state.items()
                }
