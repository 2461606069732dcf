"""ask: one question about a page or two, every lane in turn, as one trace.

The command line and the page both draw from this stream. Closing it cancels the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import uuid4

from PIL import Image

from glance.budget import CostProfile
from glance.compare import compare
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.documents.intake import Document, Notice, check_question
from glance.drafters.base import Drafter
from glance.drafters.load import PLAIN
from glance.engine.choose import device_name
from glance.ground import copied_spans, fraction
from glance.grounding import grounding
from glance.lane import digits
from glance.limits import UNLIKE, limits_of
from glance.prefix_cache import PrefixCache
from glance.replay import RecordedLane, lanes
from glance.targets.base import Target
from glance.trace import SCHEMA, Line, provenance
from glance.types import Prompt, PromptError

TOO_LONG = (
    "With all earlier questions and answers this is more than the model reads at once: "
    "begin a new conversation, or lower max tokens."
)


def ask(
    target: Target,
    drafters: Sequence[Drafter | None],  # one lane each, in this order; None is the plain lane
    pages: Document | Sequence[Document],
    question: str,
    config: DecodeConfig | None = None,
    run: str | None = None,
    history: Sequence[tuple[str, str]] = (),  # earlier questions and answers about the document
    sample: dict[str, Any] | None = None,  # for the header, where the page was generated
    prefixes: PrefixCache | None = None,  # the conversation's; holds this question's rows then
    costs: Mapping[str, CostProfile] | None = None,  # by drafter, where not all have `config`'s
) -> Iterator[Line]:
    """The whole trace of a question: header, notices, the lanes, compare, grounding.

    There is no compare line above temperature 0, where equal text is not to be expected. Grounding
    is of the first page.

    A follow-up goes on from the rows in `prefixes`, if all lanes can, so that their times compare.
    A question without history always reads its page: its prefill is what reading takes.

    Raises:
        DocumentError: the question is blank or too long.
        PromptError: page, question and answer do not fit the target's context.
    """
    config = config or DecodeConfig()
    run = run or uuid4().hex[:12]
    documents = [pages] if isinstance(pages, Document) else list(pages)
    images = [each.image for each in documents]
    prompt = target.prompt(images, check_question(question), history)
    _check_length(target, prompt, config, history)
    costs = costs or {}
    decoders = [Decoder(target, drafter, _own(config, drafter, costs)) for drafter in drafters]
    numbers = count()

    def line_of(kind: str, body: dict[str, Any]) -> Line:
        return {"kind": kind, "run": run, "seq": next(numbers), **body}

    seen = _images(target, documents, prompt)
    yield line_of("header", _header(target, decoders, seen, prompt, history, config, sample))
    told = [notice for each in documents for notice in each.notices]
    for notice in dict.fromkeys((*told, *_warnings(target, seen, prompt))):
        yield line_of("notice", {"level": notice.level, "code": notice.code, "text": notice.text})
    lines: list[Line] = []
    taps = {layer for drafter in drafters if drafter for layer in drafter.taps}
    earlier = prefixes.covering(sorted(taps)) if prefixes and history else None
    keep = prefixes.keep if prefixes else None
    for decoder in decoders:
        for line in decoder.stream(prompt, run, numbers, earlier, keep):
            lines.append(line)
            yield line
    recorded = lanes(lines)
    if config.temperature == 0.0:  # draws need not agree, so they are not compared
        for body in _compared(recorded, target):
            yield line_of("compare", body)
    # one record, of the first lane that drafts, which the views show: others may have drawn
    # another text, and at temperature 0 they gave the same, or compare said otherwise
    shown = next((decoder for decoder in decoders if decoder.drafter), decoders[0])
    yield line_of("grounding", _grounded(target, documents, prompt, history, recorded[shown.name]))


def _own(
    config: DecodeConfig, drafter: Drafter | None, costs: Mapping[str, CostProfile]
) -> DecodeConfig:
    own = costs.get(drafter.name) if drafter else None
    return replace(config, costs=own) if own else config


def _check_length(
    target: Target, prompt: Prompt, config: DecodeConfig, history: Sequence[tuple[str, str]]
) -> None:
    try:
        target.check_length(prompt, config.max_new_tokens)
    except PromptError as error:
        if not history:
            raise
        raise PromptError(TOO_LONG) from error


def _warnings(target: Target, images: Sequence[dict[str, Any]], prompt: Prompt) -> Iterator[Notice]:
    """What the reader should know before the answer: the target may not read this."""
    if target.likeness and target.likeness.unlike(target, prompt):
        yield UNLIKE
    limits = limits_of(target.name)
    for image in images:
        yield from limits.of_text(image["text_px"])
    yield from limits.of_question(prompt.question)


def _grounded(
    target: Target,
    documents: Sequence[Document],
    prompt: Prompt,
    history: Sequence[tuple[str, str]],
    lane: RecordedLane,
) -> dict[str, Any]:
    whites = [Image.new("RGB", each.image.size, "white") for each in documents]
    blank = target.prompt(whites, prompt.question, history)
    size = documents[0].image.size
    head = target.localization
    found = grounding(target, prompt, blank, lane.ids, size, head)
    return {
        "lane": lane.name,
        "copy": copied_spans(lane.tokens, lane.text, documents[0].glyphs or [], size),
        "gain": [round(gain, 4) for gain in found.gains],
        "head": head.to_json() if head and found.boxes else None,
        "box": [fraction(box, size) for box in found.boxes] if found.boxes else None,
        "share": [digits(share) for share in found.shares] if found.shares else None,
    }


def warm_up(target: Target, drafters: Sequence[Drafter | None]) -> None:
    """A few rounds of every lane on a blank page, which nobody sees.

    First passes pay for allocations and set-up that would else be charged to the first lane.
    """
    prompt = target.prompt(Image.new("RGB", (256, 256), "white"), "?")
    for drafter in drafters:
        Decoder(target, drafter).warm_up(prompt)


def _compared(recorded: dict[str, RecordedLane], target: Target) -> Iterator[dict[str, Any]]:
    """Each lane against the plain one; against the first where there is no plain one."""
    if not recorded:
        return
    bound = target.certificate.bound if target.certificate else None
    reference = recorded.get(PLAIN) or next(iter(recorded.values()))
    for lane in recorded.values():
        if lane is not reference:
            body = compare(reference.tokens, lane.tokens, target.dtype_name, bound)
            yield {"lanes": [reference.name, lane.name], **body}


def _header(
    target: Target,
    decoders: Sequence[Decoder],
    images: Sequence[dict[str, Any]],
    prompt: Prompt,
    history: Sequence[tuple[str, str]],
    config: DecodeConfig,
    sample: dict[str, Any] | None,
) -> dict[str, Any]:
    drafter = next((decoder.drafter for decoder in decoders if decoder.drafter), None)
    costs = {
        decoder.name: decoder.config.costs.to_json()
        for decoder in decoders
        if decoder.drafter and decoder.config.costs
    }
    return {
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "lanes": [decoder.name for decoder in decoders],
        "target": {
            "name": target.name,
            "revision": target.revision,
            "dtype": target.dtype_name,
            "device": device_name(target.device),
            "attention": target.attention,
            **({"bound": digits(target.certificate.bound)} if target.certificate else {}),
        },
        "drafter": {
            "name": drafter.name,
            "revision": drafter.revision,
            "block_size": drafter.block_size,
        }
        if drafter
        else None,
        "settings": {
            "node_budget": config.node_budget,
            "max_new_tokens": config.max_new_tokens,
            "temperature": config.temperature,
            "seed": config.seed,
            "stop_ids": list(config.stop_ids),
            "copy_mode": "gain",
            "costs": config.costs.to_json() if config.costs else None,
            **({"lane_costs": costs} if len(costs) > 1 else {}),
        },
        "prompt": {
            "question": prompt.question,
            "tokens": prompt.input_ids.shape[1],
            "image_tokens": prompt.image_tokens,
            **({"history": [list(turn) for turn in history]} if history else {}),
        },
        **dict(zip(("image", "second_image"), images, strict=False)),
        "sample": sample,
        "provenance": provenance(),
    }


def _images(target: Target, documents: Sequence[Document], prompt: Prompt) -> list[dict[str, Any]]:
    """Each page of a prompt: which it is, and how the target sees it."""
    limits = limits_of(target.name)
    seen = prompt.images or [each.image for each in documents]
    return [
        {
            "name": document.name,
            "sha256": document.sha256,
            "kind": document.kind,
            "mode": document.mode,
            "original": list(document.original_size),
            "processed": list(image.size),
            "text_px": limits.text_seen(document.image),
            "orientation": document.orientation,
            "page": document.page,
            "pages": document.pages,
            "crop": list(document.crop) if document.crop else None,
        }
        for document, image in zip(documents, seen, strict=True)
    ]
