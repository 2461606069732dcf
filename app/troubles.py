"""What ended a run: in a sentence for whoever asked, in a word for the log. No torch, no Gradio."""

from __future__ import annotations

from dataclasses import dataclass

from glance.documents.intake import DocumentError
from glance.machine import ran_out
from glance.types import PromptError

#: title of an error that crossed a process's border as a sentence that is fit for readers
REFUSED = "Refused"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a run did not end well."""

    text: str
    outcome: str  # refused, memory, quota, cut, busy, missing or failed


INTERNAL = Trouble(
    "The run failed for a reason of the server's own; its log has the details.", "failed"
)
MEMORY = Trouble(
    "This does not fit into the server's memory: try a smaller image or fewer tokens.", "memory"
)

#: what ZeroGPU refuses, by the beginning of the title or the text of its error
ZEROGPU = {
    "ZeroGPU quota exceeded": Trouble(
        "Your GPU time on this Space is used up for now: it comes back with time, signing in to "
        "Hugging Face gives more, and recorded runs can still be replayed.",
        "quota",
    ),
    "ZeroGPU pending credits exceeded": Trouble(
        "Your other runs on Hugging Face hold all your GPU time: try again when they have ended.",
        "quota",
    ),
    "ZeroGPU illegal duration": Trouble(
        "This run would need the GPU for longer than it is lent: ask for fewer tokens.", "quota"
    ),
    "ZeroGPU queue timeout": Trouble(
        "All GPUs of Hugging Face are taken at the moment: try again in a minute.", "busy"
    ),
    "No GPU was available": Trouble(
        "All GPUs of Hugging Face are taken at the moment: try again in a minute.", "busy"
    ),
    "GPU task aborted": Trouble(
        "The GPU was taken back before the run had ended: ask for fewer tokens.", "cut"
    ),
    "OutOfMemoryError": MEMORY,
    "MemoryError": MEMORY,
}


def trouble_of(error: Exception) -> Trouble | None:
    """What the exception says to the reader; None if that is nobody's business but the server's.

    ZeroGPU's errors are known by their title and text, as its package is not there elsewhere.
    """
    if isinstance(error, DocumentError | PromptError):
        return Trouble(str(error), "refused")
    if ran_out(error):
        return MEMORY
    title, text = str(getattr(error, "title", "")), str(getattr(error, "message", ""))
    if title == REFUSED:
        return Trouble(text, "refused")
    if title.startswith("ZeroGPU"):
        for words, trouble in ZEROGPU.items():
            if title.startswith(words) or text.startswith(words):
                return trouble
    return None
