"""Train the GLANCE head on the target's own greedy answers (DFlash recipe, arXiv 2602.06036).

The target answers the questions of training pages in a process of its own, and the head learns from
the records there are until the time is up. The target never changes. What is written to `out`:

    pages-*/    records by split and page number, of one target and choice of taps, kept for reuse
    state.*     weights, optimizer and progress: the checkpoint
    head/       the finished head in the z-lab layout, with its card
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from glance.documents.dataset import page
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig, HeadError
from glance.heads.formats import read_head, write_head
from glance.targets.base import Target
from glance.targets.load import load_target
from glance.training.blocks import (
    Gaze,
    block_cells,
    block_labels,
    block_loss,
    collate,
    draft_blocks,
    sample_anchors,
)
from glance.training.capture import (
    Record,
    answering,
    capture_page,
    load_record,
    record_path,
    save_record,
)
from glance.training.optimizer import MuonAdamW
from glance.training.replayed import OFFSETS, Replayed, replay_rounds

SEED = 0
BLOCK_SIZE = 16
DRAFT_LAYERS = 2
FIRST_PAGES = 48  # answered before training starts
MOST_PAGES = 4000  # 10 GB of taps at about 1,200 rows a page, up to 1,900 of them
VALIDATION_PAGES = 16
PAGES_A_STEP = 8
ANCHORS_A_PAGE = 24
LEARNING_RATE = 1.5e-3
GUIDE_WEIGHT = 0.4  # of the loss that tells block rows where to look
WARM_UP = 50  # steps
SAVE_EVERY = 180.0  # seconds, with a replay on validation pages
REPORT_EVERY = 15.0  # seconds


@dataclass(slots=True)
class Progress:
    """What a resumed run needs beside the weights."""

    target_revision: str
    seconds: float = 0.0  # spent so far
    steps: int = 0
    start: str = ""  # folder of the head whose weights it began with
    start_revision: str = ""  # hash of those weights


def train(
    drafter: str,
    target: str,
    out: Path,
    minutes: float,
    resume: bool = False,
    device: str = "auto",
    start: Path | None = None,
) -> Path:
    """Train a head for `minutes` in all, resumed runs included.

    Args:
        drafter: "glance"; `glance-chain` uses the same head.
        target: name or folder, as for `load_target`.
        out: folder for records, checkpoints and the finished head.
        minutes: wall-clock time of the whole run.
        resume: go on from the checkpoint in `out`.
        device: a torch device, or "auto" for a GPU when there is one.
        start: folder of a finished head to go on from, whatever target it was made for; a resumed
            run has its own weights and leaves this alone.

    Returns:
        The folder of the finished head.

    Raises:
        HeadError: another drafter, no checkpoint to resume or one made for another target, or no
            head to start from or one of other shapes.
    """
    if drafter != "glance":
        raise HeadError(f"There is no training for {drafter!r}: choose glance.")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    run = HeadTraining(load_target(target, device=device), out, resume, start)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))  # one core answers pages
    with answering(target, run.taps, run.pages, range(FIRST_PAGES, MOST_PAGES)):
        return run.run(minutes)


def head_config(target: Target) -> HeadConfig:
    """A head shaped like one of the target's own layers, reading four of its depths.

    The last layer is not among them where there is another: z-lab's loop takes its output from
    `hidden_states`, where it has gone through the target's final norm.

    Raises:
        HeadError: the target's tokenizer has no mask token to spare.
    """
    text = target.model.config.get_text_config()
    mask = target.tokenizer.mask_token_id
    if mask is None:
        raise HeadError(f"The tokenizer of {target.name} names no mask token, which a head needs.")
    layers = target.num_layers
    taps, deepest = min(4, max(1, layers - 1)), max(0, layers - 2)
    return HeadConfig(
        hidden_size=target.hidden_size,
        intermediate_size=3 * target.hidden_size,
        num_hidden_layers=DRAFT_LAYERS,
        num_attention_heads=text.num_attention_heads,
        num_key_value_heads=text.num_key_value_heads,
        head_dim=getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads,
        vocab_size=target.vocab_size,
        num_target_layers=layers,
        mask_token_id=mask,
        target_layer_ids=tuple(min((i + 1) * layers // taps - 1, deepest) for i in range(taps)),
        block_size=BLOCK_SIZE,
        max_position_embeddings=target.max_context,
        target_revision=target.revision,
    )


class HeadTraining:
    """One run: the target, the head, its optimizer and its records."""

    def __init__(self, target: Target, out: Path, resume: bool, start: Path | None = None) -> None:
        torch.manual_seed(SEED)
        self.target = target
        self.out = out
        self.head = BlockHead(head_config(target)).to(target.device)
        # The target's lm_head expects rows of this scale.
        self.head.norm.load_state_dict(target.model.get_decoder().norm.state_dict())
        self.gaze = Gaze(self.head)
        self.optimizer = MuonAdamW([list(self.head.parameters())], layers=[self.head.layers])
        self.taps = self.head.config.target_layer_ids
        self.progress = Progress(target.revision)
        taps = "-".join(map(str, self.taps))
        self.pages = out / f"pages-{target.revision or 'unnamed'}-{taps}"
        self.pages.mkdir(parents=True, exist_ok=True)
        if resume:
            self._load()
        elif start:
            self._start_from(start)
        self.anchors = torch.Generator().manual_seed(SEED + self.progress.steps)
        self.draw = random.Random(SEED + self.progress.steps)

    def run(self, minutes: float) -> Path:
        """Train until `minutes` are spent, export."""
        begun = time.monotonic() - self.progress.seconds
        validation = self.collect("validation", VALIDATION_PAGES)
        self.collect("train", FIRST_PAGES)
        said = saved = looked = -math.inf
        while (spent := time.monotonic() - begun) < 60.0 * minutes:
            if spent - looked > REPORT_EVERY:
                looked, paths = spent, sorted(self.pages.glob("train-*.safetensors"))
            rate = learning_rate(self.progress.steps, spent / (60.0 * minutes))
            chosen = [load_record(path) for path in self.draw.choices(paths, k=PAGES_A_STEP)]
            loss, shares = self.step(chosen, rate)
            if spent - said > REPORT_EVERY:
                said = spent
                offsets = "/".join(f"{100 * share:.0f}" for share in shares)
                say(
                    f"step {self.progress.steps}  loss {loss:.3f}  offsets {offsets}%  "
                    f"{len(paths)} pages  {minutes - spent / 60:.1f} min left"
                )
            self.progress.seconds = spent
            if spent - saved > SAVE_EVERY:
                saved = spent
                self.save()
                self.replay(validation)
        result = self.replay(validation)
        self.save()
        return self.export(result, minutes)

    def collect(self, split: str, most: int) -> list[Path]:
        """Records of the first `most` pages of a split, answered now where they are missing."""
        paths, said = [], time.monotonic()
        for index in range(most):
            path = record_path(self.pages, split, index)
            if not path.exists():
                save_record(capture_page(self.target, page(split, index), self.taps), path)
            paths.append(path)
            if time.monotonic() - said > REPORT_EVERY:
                said = time.monotonic()
                say(f"{split} page {index + 1} of {most} answered")
        return paths

    def step(self, records: list[Record], rate: float) -> tuple[float, list[float]]:
        """One update; the token loss and the share of right tokens at each of OFFSETS."""
        batch = collate(records, self.target.device)
        anchors = sample_anchors(batch, ANCHORS_A_PAGE, self.anchors)
        with torch.autocast(self.target.device.type, dtype=torch.bfloat16):
            logits = draft_blocks(self.head, self.target, batch, anchors)
            look = self.gaze.loss(block_cells(batch, anchors, logits.shape[2]))
        labels, exists = block_labels(batch, anchors, logits.shape[2])
        loss = block_loss(logits, labels, exists)
        self.optimizer.step(loss + GUIDE_WEIGHT * look, [rate])
        self.progress.steps += 1
        right = (logits.detach().argmax(-1) == labels) & exists
        shares = [
            float(right[..., k - 1].sum() / exists[..., k - 1].sum().clamp(min=1)) for k in OFFSETS
        ]
        return loss.item(), shares

    def replay(self, paths: list[Path]) -> Replayed:
        """Replayed rounds on validation pages, reported."""
        with torch.autocast(self.target.device.type, dtype=torch.bfloat16):
            result = replay_rounds(self.head, self.target, [load_record(p) for p in paths])
        say(f"step {self.progress.steps}  validation: {result}")
        return result

    def save(self) -> None:
        """The checkpoint: plain tensors and JSON."""
        partial = self.out / "state.partial"
        save_file(self.optimizer.tensors(self.head.named_parameters()), partial)
        partial.replace(self.out / "state.safetensors")
        text = json.dumps(asdict(self.progress), indent=2)
        (self.out / "state.json").write_text(text + "\n", encoding="utf-8")

    def _load(self) -> None:
        try:
            raw = json.loads((self.out / "state.json").read_text(encoding="utf-8"))
            tensors = load_file(self.out / "state.safetensors")
        except (OSError, ValueError) as error:
            raise HeadError(f"There is no checkpoint to resume in {self.out}.") from error
        progress = Progress(**raw)
        if progress.target_revision != self.target.revision:
            raise HeadError(
                f"The checkpoint was trained on target {progress.target_revision}, "
                f"not {self.target.revision}: start afresh in another folder."
            )
        self.progress = progress
        self.optimizer.load(self.head.named_parameters(), tensors)

    def _start_from(self, folder: Path) -> None:
        given = read_head(folder)
        shapes, found = (
            {name: tensor.shape for name, tensor in head.state_dict().items()}
            for head in (self.head, given)
        )
        differ = [name for name in sorted(shapes | found) if shapes.get(name) != found.get(name)]
        if differ:
            raise HeadError(
                f"A head for {self.target.name} cannot start from {folder}: "
                f"{', '.join(differ[:3])} would have another shape."
            )
        self.head.load_state_dict(given.state_dict())
        self.progress.start, self.progress.start_revision = str(folder), given.revision()

    def export(self, result: Replayed, minutes: float) -> Path:
        """Write the finished head and its card."""
        folder = self.out / "head"
        write_head(self.head, folder)
        (folder / "README.md").write_text(self._card(result, minutes), encoding="utf-8")
        say(f"head written to {folder}")
        return folder

    def _card(self, result: Replayed, minutes: float) -> str:
        config, progress = self.head.config, self.progress
        parameters = sum(p.numel() for p in self.head.parameters())
        records = len(list(self.pages.glob("train-*.safetensors")))
        command = f"python -m glance train head --drafter glance --minutes {minutes:g}"
        start = "random weights"
        if progress.start:
            command += f" --start {progress.start}"
            start = f"the head with weights `{progress.start_revision}`"
        return f"""# GLANCE head

Block-diffusion drafter (DFlash layout) for the target with weights `{config.target_revision}`:
one forward drafts {config.block_size - 1} tokens after the last committed one.

| | |
|---|---|
| parameters | {parameters:,} (embedding and lm_head are the target's) |
| layers, width | {config.num_hidden_layers} x {config.hidden_size} |
| tapped target layers | {", ".join(map(str, config.target_layer_ids))} |
| block size, mask token | {config.block_size}, {config.mask_token_id} |
| started from | {start} |
| corpus | the target's own greedy answers to all questions of {records} generated training pages |
| steps | {progress.steps} of {PAGES_A_STEP} pages x {ANCHORS_A_PAGE} blocks |
| time | {progress.seconds / 60:.0f} min, the target's answers included |
| seed | {SEED} |
| date | {datetime.now(UTC):%Y-%m-%d} |
| command | `{command}` |
| torch | {torch.__version__} |

Rounds replayed on {VALIDATION_PAGES} validation pages, node budget 15:

    {result}
"""


def learning_rate(step: int, done: float) -> float:
    """Linear warm-up, then a cosine over the share of the time that is done."""
    cosine = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    return LEARNING_RATE * min(1.0, (step + 1) / WARM_UP) * cosine


def say(text: str) -> None:
    """Progress goes to stderr."""
    sys.stderr.write(f"{datetime.now():%H:%M:%S}  {text}\n")
    sys.stderr.flush()
