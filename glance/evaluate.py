"""How well a target reads: exact answers and character error rate (CER)."""

import unicodedata
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

import torch
from PIL import Image

from glance.answers import answer_together
from glance.documents.sets import Item, count, item
from glance.scores import Marked, Report, report, slices_of
from glance.targets.base import Target, conversation
from glance.targets.load import load_target
from glance.together import merged


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
    text = processor.apply_chat_template(
        conversation(1, question), add_generation_prompt=True, tokenize=False
    )
    inputs = processor(text=[text], images=[image.convert("RGB")], return_tensors="pt")
    inputs = inputs.to(model.device)
    out = model.generate(**inputs, max_new_tokens=max_new_tokens, do_sample=False)
    new = out[0, inputs["input_ids"].shape[1] :]
    return processor.tokenizer.decode(new, skip_special_tokens=True)


def answer_item(target: Target, item: Item) -> list[Marked]:
    """Ask every question of an item, greedily, and mark the answers."""
    if not item.questions:  # a page that answers nothing, behind a blank one
        return []
    prompts = [target.prompt(item.images, q.question, q.history) for q in item.questions]
    limits = [2 * len(q.answer) + 32 for q in item.questions]
    marked = []
    for q, ids in zip(
        item.questions, answer_together(target, prompts, limits).answers, strict=True
    ):
        got = target.decode_text(ids)
        exact = normalise(got) == normalise(q.answer)
        errors = character_errors(got, q.answer)
        marked.append(Marked(q.task, q.question, q.answer, got, exact, errors, slices_of(item, q)))
    return marked


def evaluate_target(
    target: Target,
    items: Iterable[Item],
    progress: Callable[[int], None] | None = None,  # items answered
) -> Report:
    """Answer all questions of all items here, in this process.

    Of several that were launched together each has its share of the items, and all get the report.
    """
    return _reported((answer_item(target, item) for item in items), progress)


def evaluate_in_processes(
    target: str,  # name or folder, for load_target
    name: str,  # of a set
    n: int,  # items
    split: str,
    processes: int,
    progress: Callable[[int], None] | None = None,  # items answered
) -> Report:
    """The same figures, from several processes of one thread each."""
    answer = partial(_answer_numbered, target, name, split)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return _reported(pool.map(answer, range(count(name, n, split))), progress)


def _answer_numbered(target: str, name: str, split: str, index: int) -> list[Marked]:
    return answer_item(_loaded(target), item(name, index, split))


@cache
def _loaded(target: str) -> Target:
    """The target of a process, loaded when its first item comes."""
    torch.set_num_threads(1)
    return load_target(target)


def _reported(answers: Iterable[list[Marked]], progress: Callable[[int], None] | None) -> Report:
    own: list[list[Marked]] = []
    for some in answers:
        own.append(some)
        if progress:
            progress(len(own))
    return report([one for some in merged(own) for one in some])
