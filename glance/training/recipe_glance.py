"""The GLANCE head's recipe (DFlash, arXiv 2602.06036): random blocks, and a guided gaze."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from torch import Tensor, nn

from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig, HeadError
from glance.heads.formats import read_head, write_head
from glance.targets.base import Target
from glance.training.blocks import (
    Gaze,
    block_cells,
    block_labels,
    block_loss,
    collate,
    draft_blocks,
    sample_anchors,
)
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.recipe import Recipe

BLOCK_SIZE = 16
DRAFT_LAYERS = 2
ANCHORS_A_PAGE = 24
GUIDE_WEIGHT = 0.4  # of the loss that tells block rows where to look


class GlanceRecipe(Recipe):
    """Block-diffusion head in the DFlash layout."""

    name = "glance"
    title = "GLANCE head (block diffusion)"
    a_page = f"{ANCHORS_A_PAGE} blocks"

    def __init__(self, target: Target, corpus: Corpus) -> None:
        super().__init__(target, corpus)
        self._gaze = Gaze(self.head)

    @classmethod
    def taps(cls, target: Target) -> tuple[int, ...]:
        return block_taps(target.num_layers)

    def build(self, corpus: Corpus) -> nn.Module:
        head = BlockHead(head_config(self.target))
        # The target's lm_head expects rows of this scale.
        head.norm.load_state_dict(self.target.model.get_decoder().norm.state_dict())
        return head

    def layers(self) -> Iterable[nn.Module]:
        return self.head.layers

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        batch = collate(records, self.target.device)
        anchors = sample_anchors(batch, ANCHORS_A_PAGE, self.generator)
        logits = draft_blocks(self.head, self.target, batch, anchors)
        offsets = logits.shape[2]
        look = self._gaze.loss(block_cells(batch, anchors, offsets))
        tokens = block_loss(logits, *block_labels(batch, anchors, offsets))
        return tokens + GUIDE_WEIGHT * look

    def write(self, folder: Path) -> None:
        write_head(self.head, folder)

    def read(self, folder: Path) -> nn.Module:
        return read_head(folder)


def block_taps(layers: int) -> tuple[int, ...]:
    """Four depths of a target, evenly spread.

    The last layer is not among them where there is another: z-lab's loop takes its output from
    `hidden_states`, where it has gone through the target's final norm.
    """
    taps, deepest = min(4, max(1, layers - 1)), max(0, layers - 2)
    return tuple(min((i + 1) * layers // taps - 1, deepest) for i in range(taps))


def head_config(target: Target) -> HeadConfig:
    """A head shaped like one of the target's own layers, reading four of its depths.

    Raises:
        HeadError: the target's tokenizer has no mask token to spare.
    """
    text = target.model.config.get_text_config()
    mask = target.tokenizer.mask_token_id
    if mask is None:
        raise HeadError(f"The tokenizer of {target.name} names no mask token, which a head needs.")
    return HeadConfig(
        hidden_size=target.hidden_size,
        intermediate_size=3 * target.hidden_size,
        num_hidden_layers=DRAFT_LAYERS,
        num_attention_heads=text.num_attention_heads,
        num_key_value_heads=text.num_key_value_heads,
        head_dim=getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads,
        vocab_size=target.vocab_size,
        num_target_layers=target.num_layers,
        mask_token_id=mask,
        target_layer_ids=block_taps(target.num_layers),
        block_size=BLOCK_SIZE,
        max_position_embeddings=target.max_context,
        target_revision=target.revision,
    )
