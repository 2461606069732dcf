"""Record a pass as a CUDA graph, replay it; without CUDA, run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

WARM_UPS = 2  # runs before recording: libraries allocate workspaces and choose kernels in them

_RECORDING = Lock()  # of a process only one thread may record at a time, on whatever device


class Recorder:
    """Makes passes for one device; those on CUDA share the memory of what they hold in between.

    So a pass may overwrite the result of another: whatever is to outlive the next pass, a step
    writes into a tensor that was there before.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        cuda = device.type == "cuda"
        self._pool: Any = torch.cuda.graph_pool_handle() if cuda else None
        # one for all passes, as libraries keep a workspace for every stream
        self._aside: Any = torch.cuda.Stream(device) if cuda else None

    def record(self, step: Callable[[], T]) -> Pass[T]:
        """A pass of `step`, which reads and writes tensors that stay where they are.

        It runs a few times at once. Passes of one recorder must not run at the same time.
        """
        if self.device.type != "cuda":
            return Pass(step)
        aside, here = self._aside, torch.cuda.current_stream(self.device)
        # a recording that fails leaves its stream the current one: the outer `stream` puts it back
        with _RECORDING, torch.cuda.device(self.device), torch.cuda.stream(here):
            aside.wait_stream(here)
            with torch.cuda.stream(aside):
                for _ in range(WARM_UPS):
                    step()
            here.wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            # other threads may allocate or copy meanwhile: only this one must keep the rules
            with torch.cuda.graph(
                graph, pool=self._pool, stream=aside, capture_error_mode="thread_local"
            ):
                out = step()
        return Pass(step, graph, out)


class Pass(Generic[T]):
    """A recorded step. Its result lies in the same tensors every time: the next run overwrites."""

    def __init__(
        self, step: Callable[[], T], graph: torch.cuda.CUDAGraph | None = None, out: T | None = None
    ) -> None:
        """Without a graph, every run calls `step`."""
        self._step = step
        self._graph = graph
        self._out = out

    def __call__(self) -> T:
        """Run on what the static inputs hold now."""
        if self._graph is None:
            return self._step()
        self._graph.replay()
        assert self._out is not None
        return self._out


def put(into: Tensor, values: Tensor | Sequence[Any]) -> None:
    """Copy host values to a static tensor's beginning, without waiting for the device.

    A pinned tensor of its own for each copy: the allocator reuses it only when the copy is done.
    """
    host = torch.as_tensor(values, dtype=into.dtype)
    if into.is_cuda:
        host = host.pin_memory()
    into[: len(host)].copy_(host, non_blocking=True)
