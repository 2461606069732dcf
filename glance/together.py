"""Work in several processes: each takes a share of it, gradients are averaged, results merged.

On a CPU two processes of one thread keep two cores busy where one of two threads does not: a third
more rows a second (docs/log.md). Without a process group every function here does nothing.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, multiprocessing

T = TypeVar("T")

PATIENCE = timedelta(hours=6)  # that one process waits for the others' answers


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that `accelerate launch` or torchrun has started, if it has."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    # both are named: left to itself torch takes NCCL alone, and counts and clocks lie on the CPU
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, timeout=PATIENCE)
    try:
        yield
    finally:
        distributed.destroy_process_group()


def own_device(device: str) -> str:
    """The graphics card of this process, where "cuda" is asked for and there are several."""
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if device == "cuda" else device


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


def processes() -> int:
    """How many there are."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def share(items: Sequence[T]) -> Sequence[T]:
    """This process's part: every n-th of the items, from another one on in each."""
    return items[distributed.get_rank() :: processes()] if distributed.is_initialized() else items


def merged(own: Sequence[T]) -> list[T]:
    """The items of all processes in the order that they had before `share`, in each of them.

    Where a process left some out, the others' are still taken in turns.
    """
    parts = gathered(list(own))
    turns = max(map(len, parts))
    return [part[turn] for turn in range(turns) for part in parts if turn < len(part)]


def wait() -> None:
    """Until all processes are here."""
    gathered(None)


def gathered(own: T) -> list[T]:
    """What all processes have, in their order, in each of them."""
    if not distributed.is_initialized():
        return [own]
    found: list[T] = [own] * processes()
    distributed.all_gather_object(found, own)
    return found


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
