"""Stands in for Hugging Face's package `spaces` on a ZeroGPU Space.

Like the real one it pickles what crosses between the processes, tells generator functions by
inspection, looks for the visitor in the context of the event, stops a worker only between two
yields, and keeps of an exception only the name of its class, unless it is one of Gradio's.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

#: what was loaded when this was imported: on ZeroGPU nothing that may touch the GPU
LOADED_BEFORE = sorted({"torch", "transformers", "gradio"} & set(sys.modules))

calls: list[dict[str, Any]] = []
refuse: list[Exception] = []  # raised by the next call, as where there is no quota


def GPU(*, duration: Callable[..., int]) -> Callable:  # noqa: N802 - the real one's name
    def decorate(task: Callable[..., Iterator]) -> Callable[..., Iterator]:
        assert inspect.isgeneratorfunction(task), "would run as a plain function"

        @wraps(task)
        def handler(*args: Any, **kwargs: Any) -> Iterator:
            from gradio.context import LocalContext

            if refuse:
                raise refuse.pop()
            call = {
                "seconds": duration(*args, **kwargs),
                "request": LocalContext.request.get(None),
                "stopped": False,
            }
            calls.append(call)
            crossed_args, crossed_kwargs = pickle.loads(pickle.dumps((args, kwargs)))
            worker = task(*crossed_args, **crossed_kwargs)
            while True:
                try:
                    value = next(worker)
                except StopIteration:
                    return
                except Exception as error:
                    raise _crossed(error) from None
                try:
                    yield pickle.loads(pickle.dumps(value))
                except GeneratorExit:
                    call["stopped"] = True
                    worker.close()
                    raise

        return handler

    return decorate


def _crossed(error: Exception) -> Exception:
    import gradio as gr

    if isinstance(error, gr.Error):
        return pickle.loads(pickle.dumps(error))
    return gr.Error(type(error).__name__, title="ZeroGPU worker error", print_exception=False)
