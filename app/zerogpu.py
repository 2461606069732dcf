"""Hugging Face ZeroGPU: a run borrows a GPU for its own length, in a process forked for it.

What crosses between the processes is pickled, and of an exception only the name of its class comes
back, unless it is one of Gradio's. Off ZeroGPU nothing here changes anything.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence

import gradio as gr

from app.session import Runner
from app.settings import Settings
from app.talk import Talk
from app.troubles import REFUSED, trouble_of
from glance.config import AUTO
from glance.documents.intake import Document
from glance.trace import Line

FIXED_S = 10  # to move the model onto the GPU and to read the page
TOKEN_S = 0.025  # of a lane: meant to be enough for a small model, whose passes are all overhead
AUTO_S = 10  # to measure what passes cost there


def on_zerogpu() -> bool:
    """Whether this is a ZeroGPU Space, by the variable that `spaces` itself looks at."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def seconds(
    documents: Sequence[Document],  # noqa: ARG001 - `spaces` calls it with a run's own arguments
    question: str,  # noqa: ARG001
    settings: Settings,
    run_id: str,  # noqa: ARG001
    talk: Talk | None = None,  # noqa: ARG001
) -> int:
    """How long a run may hold the GPU; less is asked for, sooner given, and cheaper."""
    drafting = max(1, sum(name != "ar" for name in settings.lanes))  # each is measured
    measuring = AUTO_S * drafting if settings.node_budget == AUTO else 0
    return math.ceil(FIXED_S + measuring + TOKEN_S * settings.max_tokens * len(settings.lanes))


def lent(runner: Runner) -> Runner:
    """The runner in a process that has the GPU; off ZeroGPU the runner itself."""
    if not on_zerogpu():
        return runner
    import spaces

    # a generator function, not a function that returns one: `spaces` tells them apart
    @spaces.GPU(duration=seconds)
    def inside(
        documents: Sequence[Document],
        question: str,
        settings: Settings,
        run_id: str,
        talk: Talk | None = None,
    ) -> Iterator[Line | None]:
        try:
            yield from runner(documents, question, settings, run_id, talk)
        except Exception as error:
            trouble = trouble_of(error)
            if trouble is None or trouble.outcome != "refused":
                raise
            raise gr.Error(trouble.text, title=REFUSED, print_exception=False) from None

    def run(
        documents: Sequence[Document],
        question: str,
        settings: Settings,
        run_id: str,
        talk: Talk | None = None,
    ) -> Iterator[Line | None]:
        # rows that were read for a conversation are on the GPU, which is given back after a run
        bare = Talk(talk.turns) if talk else None
        return inside(documents, question, settings, run_id, bare)

    return run
