"""Training in several processes: each takes batches of its own, gradients are averaged.

On a CPU two processes of one thread keep two cores busy where one of two threads does not: a third
more rows a second (docs/log.md). Without a process group every function here does nothing.
"""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, multiprocessing


def run_together(count: int, work: Callable[..., None], *args: Any) -> None:
    """Call `work(rank, count, *args)` in `count` processes that can talk to each other."""
    if count == 1:
        work(0, 1, *args)
        return
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder) / "meeting")
        multiprocessing.spawn(_join, (count, meeting, work, args), nprocs=count)


def _join(rank: int, count: int, meeting: str, work: Callable[..., None], args: Any) -> None:
    distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=count
    )
    try:
        work(rank, count, *args)
    finally:
        distributed.destroy_process_group()


def is_first() -> bool:
    """Whether this is the process that speaks, saves and writes."""
    return not distributed.is_initialized() or distributed.get_rank() == 0


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Replace each gradient by its mean over the processes, which all have the same ones."""
    if not distributed.is_initialized():
        return
    gradients = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([g.flatten() for g in gradients])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def agree(*values: float) -> tuple[float, ...]:
    """The first process's values, in all processes."""
    if not distributed.is_initialized():
        return values
    shared = torch.tensor(values, dtype=torch.float64)
    distributed.broadcast(shared, 0)
    return tuple(shared.tolist())
