"""Target: an unmodified Hugging Face vision-language model behind five calls.

One class for all of them; what differs between families (positions, where the text layers are)
stands in one small adapter each. All state of a request is in its `Request`: nothing is kept on
the model, so that several requests can share it, from one thread or from several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from glance.cache import resumed
from glance.prefix_cache import Prefix
from glance.targets.grouped import grouped_attention
from glance.types import INPUT, Prompt, PromptError

if TYPE_CHECKING:
    from PIL.Image import Image

    from glance.certificate import Certificate
    from glance.engine.engine import Engine
    from glance.likeness import Likeness
    from glance.localization import LocalizationHead


#: kinds of text layers, as transformers names them: what a row may attend to
FULL, SLIDING = "full_attention", "sliding_attention"

#: where a tap of a layer stands: at what it returns, to which nothing is added later; or at that,
#: before DeepStack adds visual features to it
LAYER_OUTPUT, BEFORE_DEEPSTACK = "layer_output", "before_deepstack"


class Family(Protocol):
    """What the decoder must know about one family of models."""

    #: LAYER_OUTPUT or BEFORE_DEEPSTACK
    tap_point: str
    #: kinds of layers that can be verified; with SLIDING among them, masks go in by kind
    layer_kinds: frozenset[str]

    def text_layers(self, model: Any) -> Sequence[torch.nn.Module]:
        """The decoder layers of the language model, in order."""
        ...

    def prompt_positions(
        self, model: Any, prompt: Prompt
    ) -> tuple[Tensor, int]:  # position ids of the prompt, rope_delta
        """Positions of the prompt; a later token stands at its index + rope_delta."""
        ...

    def step_positions(self, first: int, depths: Tensor) -> Tensor:
        """Positions of rows after the prompt; depth 0 stands at `first`."""
        ...

    def processed_images(
        self, model: Any, images: Sequence[Image], model_inputs: dict[str, Tensor]
    ) -> tuple[Image, ...]:
        """The images at the size in which the model sees them."""
        ...

    def most_pixels(self, processor: Any) -> int:
        """How many pixels of an image the model sees at most."""
        ...

    def limit_pixels(self, processor: Any, most: int) -> bool:
        """Make it see at most so many; False where that is fixed."""
        ...


#: one for all layers, or by kind where some slide
Mask = Tensor | dict[str, Tensor]


@dataclass(slots=True)
class Request:
    """All that one generation keeps of the target."""

    cache: DynamicCache
    length: int  # committed tokens whose keys and values are in the cache
    rope_delta: int  # position minus token index after the prompt; 0 without M-RoPE
    positions: Tensor | None = None  # [axes, n] of the prompt, once it was read
    reused: int = 0  # rows of the prompt that were not read, but taken from an earlier prefill

    def release(self) -> None:
        """Let go of the cache's memory."""
        self.cache = DynamicCache()
        self.length = 0


def conversation(
    pictures: int, question: str, history: Sequence[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    """Messages for a chat template: the images go with the first question."""
    turns = [turn for earlier in history for turn in earlier] + [question]
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[i % 2], "content": [{"type": "text", "text": text}]}
        for i, text in enumerate(turns)
    ]
    messages[0]["content"][:0] = [{"type": "image"} for _ in range(pictures)]
    return messages


class Target:
    """A frozen vision-language model whose output is reproduced.

    Attributes:
        name, revision: for traces; revision is a short hash of the weights.
        vocab_size, num_layers, hidden_size: V, M and d of the language model.
        eos_ids: ids that end an answer.
        max_context: most tokens, prompt and answer together.
        attention: "sdpa" or "eager"; decides the kind of mask.
        window: tokens back, itself included, that a row of a sliding layer attends to; None where
            no layer slides.
        likeness: what its training pages look like, where that is known.
        localization: the head that looks at where a token stands, where one was chosen.
        certificate: what rounding can do to its logits; measured at load in half precision.
        engine: its static passes, once `glance.engine.engine_for` made them.
    """

    def __init__(
        self,
        name: str,
        model: Any,  # a transformers PreTrainedModel for image-text-to-text
        family: Family,
        tokenizer: Any,  # transformers tokenizer
        processor: Any = None,  # transformers processor; without one, prompts are made by hand
        revision: str = "",
    ) -> None:
        """Wrap a loaded model; see `glance.targets.load` for loading one by name."""
        text = model.config.get_text_config()
        self.name = name
        self.revision = revision
        self.model = model.eval().requires_grad_(False)
        self.family = family
        self.tokenizer = tokenizer
        self.processor = processor
        self.vocab_size: int = text.vocab_size
        self.num_layers: int = text.num_hidden_layers
        self.hidden_size: int = text.hidden_size
        self.max_context: int = text.max_position_embeddings
        self.attention: str = text._attn_implementation
        self.window: int | None = text.sliding_window if SLIDING in kinds_of_layers(text) else None
        self.eos_ids = _eos_ids(model)
        self.likeness: Likeness | None = None
        self.localization: LocalizationHead | None = None
        self.certificate: Certificate | None = None
        self.engine: Engine | None = None
        self._pieces: dict[int, str] = {}

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the weights."""
        return self.model.dtype

    @property
    def dtype_name(self) -> str:
        """The number format in words: "float32", ..."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def device(self) -> torch.device:
        """Where passes take their input and leave their output; layers may lie elsewhere.

        Layers in main memory that run on a card have their weights nowhere between two passes.
        """
        return next(w.device for w in self.model.parameters() if not w.is_meta)

    # --- prompt and text ---

    def prompt(
        self,
        images: Image | Sequence[Image],
        question: str,
        history: Sequence[tuple[str, str]] = (),  # earlier questions and answers, oldest first
    ) -> Prompt:
        """Tokens and pixels of a question about RGB images, perhaps after others about them.

        Special strings in the dialogue are taken apart, so that they can neither pass for an
        image nor end a turn.

        Raises:
            PromptError: the processor made something else of it than one place per image patch.
        """
        pictures = list(images) if isinstance(images, Sequence) else [images]
        plain = [(self._neutralise(asked), self._neutralise(told)) for asked, told in history]
        text = self.processor.apply_chat_template(
            conversation(len(pictures), self._neutralise(question), plain),
            add_generation_prompt=True,
        )
        begin = getattr(self.tokenizer, "bos_token", None)
        # some templates write it themselves, and once is enough
        begun = {"add_special_tokens": False} if begin and text.startswith(begin) else {}
        batch = self.processor(text=[text], images=pictures or None, return_tensors="pt", **begun)
        inputs = {key: value.to(self.device) for key, value in batch.items()}
        input_ids = inputs.pop("input_ids")
        inputs.pop("attention_mask", None)  # one prompt, no padding: all ones
        image_tokens = int((input_ids == self.model.config.image_token_id).sum())
        if bool(pictures) != bool(image_tokens):
            raise PromptError("The image did not reach the model, so no answer is given.")
        return Prompt(
            input_ids=input_ids,
            model_inputs=inputs,
            question=question,
            image_tokens=image_tokens,
            images=self.family.processed_images(self.model, pictures, inputs),
        )

    def _neutralise(self, text: str) -> str:
        added = {str(token) for token in self.tokenizer.get_added_vocab()}
        for special in sorted(added | set(self.tokenizer.all_special_tokens), key=len)[::-1]:
            if len(special) > 1:
                text = text.replace(special, f"{special[0]} {special[1:]}")
        return text

    def decode_text(self, ids: Sequence[int]) -> str:
        """Text of the ids, special tokens left out."""
        return self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def piece(self, token_id: int) -> str:
        """Text of one token by itself, special tokens by name; for display only."""
        if token_id not in self._pieces:
            self._pieces[token_id] = self.tokenizer.decode([token_id], skip_special_tokens=False)
        return self._pieces[token_id]

    # --- passes ---

    def check_length(self, prompt: Prompt, max_new_tokens: int) -> None:
        """Refuse what does not fit.

        Raises:
            PromptError: prompt and answer together exceed the context.
        """
        length = prompt.input_ids.shape[1]
        if length >= self.max_context:
            raise PromptError(
                f"The image and the question take {length} tokens, but the model reads at most "
                f"{self.max_context}; use a smaller image or a shorter question."
            )
        if length + max_new_tokens > self.max_context:
            raise PromptError(
                f"The image and the question take {length} tokens, which leaves room for "
                f"{self.max_context - length} of the {max_new_tokens} answer tokens asked for; "
                "lower max tokens or use a smaller image."
            )

    def prefill(
        self,
        prompt: Prompt,
        taps: Sequence[int] = (),
        earlier: Prefix | None = None,  # with the features of these taps
    ) -> tuple[Request, Tensor, Tensor | None]:  # request, [V], [n, K, d]
        """Read the prompt: a fresh request, the logits of its last row, its features.

        Rows that the prompt shares with `earlier`, its images' among them, are not read again.
        """
        positions, rope_delta = self.family.prompt_positions(self.model, prompt)
        rows = self._reusable(prompt, earlier) if earlier else 0
        cache = resumed(earlier.layers, rows) if earlier and rows else DynamicCache()
        with self._tapped(taps) as taken:
            out = self.model(
                input_ids=prompt.input_ids[:, rows:],
                attention_mask=torch.ones_like(prompt.input_ids),
                position_ids=positions[..., rows:],
                cache=cache,
                use_cache=True,
                logits_to_keep=1,
                **({} if rows else prompt.model_inputs),
            )
        features = _stacked(taken)
        if earlier and rows and features is not None:
            known = torch.stack([earlier.features[layer][:rows] for layer in taps], dim=1)
            features = torch.cat([known, features])
        length = prompt.input_ids.shape[1]
        request = Request(cache, length, rope_delta, positions.flatten(0, -2), rows)
        return request, out.logits[0, -1], features

    def _reusable(self, prompt: Prompt, earlier: Prefix) -> int:
        """The shared rows; none where images stand after them, which a pass reads all or not."""
        rows = earlier.shared(prompt)
        unread = prompt.input_ids[0, rows:] == self.model.config.image_token_id
        return 0 if bool(unread.any()) else rows

    def forward(
        self,
        request: Request,
        ids: Tensor,  # [rows] long
        depths: Tensor,  # [rows] long; 0 stands right after the committed tokens
        mask: Mask | None = None,  # [1, 1, rows, S + rows]; None for a single row
        taps: Sequence[int] = (),
    ) -> tuple[Tensor, Tensor | None]:  # [rows, V], [rows, K, d]
        """One pass over rows that follow the committed tokens; appends them to the cache.

        `request.length` stays: whoever commits rows sets it. Positions are explicit in every
        pass, so no position state on the model is read or written.
        """
        first = request.length + request.rope_delta
        positions = self.family.step_positions(first, depths)
        return self.rows(request.cache, ids, positions, mask, taps)

    def rows(
        self,
        cache: Any,  # a transformers Cache
        ids: Tensor,  # [rows] long
        positions: Tensor,  # of the family's `step_positions`
        mask: Mask | None,
        taps: Sequence[int] = (),
    ) -> tuple[Tensor, Tensor | None]:  # [rows, V], [rows, K, d]
        """`forward` with cache and positions given, so that nothing of it is read by the host."""
        attending = nullcontext() if mask is None else grouped_attention(self)
        with attending, self._tapped(taps) as taken:
            out = self.model(
                input_ids=ids.unsqueeze(0),
                attention_mask=mask,
                position_ids=positions,
                cache=cache,
                use_cache=True,
            )
        return out.logits[0], _stacked(taken)

    def embed(self, ids: Tensor) -> Tensor:
        """Token embeddings of the language model: [..., d]."""
        return self.model.get_input_embeddings()(ids).to(ids.device)

    def final_norm(self, hidden: Tensor) -> Tensor:
        """Outputs of the last decoder layer as they enter lm_head: [..., d]."""
        return self.model.get_decoder().norm(hidden).to(hidden.device)

    def lm_head(self, hidden: Tensor) -> Tensor:
        """Logits [..., V] of hidden states that went through a final norm."""
        return self.model.get_output_embeddings()(hidden).to(hidden.device)

    @contextmanager
    def _tapped(self, taps: Sequence[int]) -> Iterator[list[Tensor]]:
        """Collect the outputs of the tapped layers, or what enters the first, during one call.

        Hooks fire for every forward of the model, so they listen to the calling thread only, and
        they are gone when the call ends. `family.tap_point` says where that stands on models that
        add to a layer's output. Layers may lie on several devices, taps come to one.
        """
        taken: list[Tensor] = []
        owner = get_ident()

        def keep(_module: Any, _args: Any, output: Any) -> None:
            if get_ident() == owner:
                hidden = output[0] if isinstance(output, tuple) else output
                taken.append(hidden.to(self.device))

        def keep_input(_module: Any, args: tuple[Tensor, ...]) -> None:
            if get_ident() == owner:
                taken.append(args[0].to(self.device))

        layers = self.family.text_layers(self.model)
        handles = [
            layers[0].register_forward_pre_hook(keep_input)
            if layer_id == INPUT
            else layers[layer_id].register_forward_hook(keep)
            for layer_id in taps
        ]
        try:
            yield taken
        finally:
            for handle in handles:
                handle.remove()


def kinds_of_layers(text: Any) -> frozenset[str]:
    """Kinds of the text layers of a config."""
    if named := getattr(text, "layer_types", None):
        return frozenset(named)
    # Mistral names no kinds: its window, where it has one, holds in every layer
    return frozenset({SLIDING if getattr(text, "sliding_window", None) else FULL})


def _stacked(taken: list[Tensor]) -> Tensor | None:
    return torch.cat(taken, dim=0).transpose(0, 1) if taken else None  # K x [1, m, d] -> [m, K, d]


def _eos_ids(model: Any) -> tuple[int, ...]:
    eos = model.generation_config.eos_token_id
    if eos is None:
        return ()
    return tuple(eos) if isinstance(eos, list | tuple) else (int(eos),)
