"""What ended a run, in words: every trouble that the page knows, and none that it does not."""

import gradio as gr
import pytest
import torch

from app.troubles import REFUSED, trouble_of
from glance.documents.intake import DocumentError
from glance.types import PromptError


@pytest.mark.parametrize(
    ("error", "outcome", "word"),
    [
        (DocumentError("The file is empty."), "refused", "The file is empty."),
        (PromptError("They do not fit."), "refused", "They do not fit."),
        (gr.Error("They do not fit.", title=REFUSED), "refused", "They do not fit."),
        (MemoryError(), "memory", "does not fit into the server's memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "memory", "does not fit"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't"), "memory", "does not fit"),
        (gr.Error("OutOfMemoryError", title="ZeroGPU worker error"), "memory", "does not fit"),
        (gr.Error("You have exceeded", title="ZeroGPU quota exceeded"), "quota", "is used up"),
        (gr.Error("too many", title="ZeroGPU pending credits exceeded"), "quota", "other runs"),
        (gr.Error("larger than", title="ZeroGPU illegal duration"), "quota", "fewer tokens"),
        (gr.Error("No GPU was available after 60s", title="ZeroGPU queue timeout"), "busy", "GPUs"),
        (gr.Error("No GPU was available", title="ZeroGPU client error"), "busy", "GPUs"),
        (gr.Error("GPU task aborted", title="ZeroGPU worker error"), "cut", "taken back"),
    ],
)
def test_every_trouble_has_a_sentence_and_a_word(error, outcome, word):
    trouble = trouble_of(error)
    assert trouble.outcome == outcome
    assert word in trouble.text


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("secret"),
        gr.Error("KeyError", title="ZeroGPU worker error"),
        gr.Error("secret", title="Error"),
    ],
)
def test_anything_else_is_for_the_log_alone(error):
    assert trouble_of(error) is None
