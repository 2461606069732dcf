"""How well a target reads: exact answers and character error rate (CER)."""

import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from PIL import Image

from glance.audit import reference_ids
from glance.config import DecodeConfig
from glance.documents.dataset import page
from glance.targets.base import Target


def normalise(text: str) -> str:
    """NFC, runs of white space folded to one space, ends trimmed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def character_errors(got: str, wanted: str) -> int:
    """Levenshtein distance in characters (insertions, deletions, substitutions)."""
    row = list(range(len(wanted) + 1))
    for i, a in enumerate(got, start=1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(wanted, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


@torch.inference_mode()
def read_page(
    model: Any, processor: Any, image: Image.Image, question: str, max_new_tokens: int
) -> str:
    """A model's greedy answer through the class's own `generate`; for models still in training."""
    part = [{"type": "image"}, {"type": "text", "text": question}]
    text = processor.apply_chat_template(
        [{"role": "user", "content": part}], add_generation_prompt=True, tokenize=False
    )
    inputs = processor(text=[text], images=[image.convert("RGB")], return_tensors="pt")
    inputs = inputs.to(model.device)
    out = model.generate(**inputs, max_new_tokens=max_new_tokens, do_sample=False)
    new = out[0, inputs["input_ids"].shape[1] :]
    return processor.tokenizer.decode(new, skip_special_tokens=True)


@dataclass(frozen=True, slots=True)
class TaskScore:
    """Scores of one task over `questions` questions."""

    task: str
    questions: int
    exact: float  # share of answers equal after `normalise`
    cer: float  # characters wrong over characters wanted, pooled

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def evaluate_target(
    target: Target,
    split: str = "test",
    n: int = 200,  # pages
    progress: Callable[[int, int], None] | None = None,  # pages read, pages in all
) -> list[TaskScore]:
    """Ask every question of the first `n` pages of a split, greedily; one row a task.

    Pages are clean pages of the generator's kinds, prompted as the decoder prompts them.
    """
    tally: dict[str, list[int]] = {}  # task -> questions, exact, errors, characters
    for i in range(n):
        p = page(split, i)
        image = p.image.convert("RGB")
        for q in p.questions:
            config = DecodeConfig(max_new_tokens=2 * len(q.answer) + 32)
            got = target.decode_text(
                reference_ids(target, target.prompt(image, q.question), config)
            )
            row = tally.setdefault(q.task, [0, 0, 0, 0])
            row[0] += 1
            row[1] += normalise(got) == normalise(q.answer)
            row[2] += character_errors(got, q.answer)
            row[3] += len(q.answer)
        if progress:
            progress(i + 1, n)
    return [TaskScore(t, r[0], r[1] / r[0], r[2] / r[3]) for t, r in tally.items()]
