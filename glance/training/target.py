"""Train the embedded target from scratch: see glyphs, read lines, read pages and answer.

Next-token loss on whole pages teaches a blank model nothing in hours, but the generator knows
every glyph's place, so each part is supervised directly, then joined:
  vision  every visual token names the characters whose centres fall into its four slots
  lines   the text model reads single lines; chosen heads are told which visual token to look at
  pages   longer strips, then whole pages with questions, all parts trained together
"""

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from glance.documents.dataset import page
from glance.evaluate import character_errors, read_page
from glance.likeness import fit_folder
from glance.targets.embedded import IMAGE, VISION_END, build_model, build_processor
from glance.targets.load import EMBEDDED, weights_revision
from glance.together import agree, is_first, run_together
from glance.training.curve import write_curve
from glance.training.guide import Guide
from glance.training.optimizer import MuonAdamW
from glance.training.pages import CLASSES, SLOTS, Batch, Sampler, render
from glance.training.sequences import Sequences, build, misread, pixel_rows

LAYERS, WIDTH = 8, 256  # of the text model that is shipped
STAGES = ("vision", "lines", "pages")
RATES = {"vision": 2e-3, "lines": 2e-3, "pages": 1.2e-3}  # AdamW's
# learning rate of the vision tower (and glyph heads), and of the text model, as shares of RATES
SHARES = {"vision": (1.0, 0.0), "lines": (0.0, 1.0), "pages": (0.3, 1.0)}
# a stage ends when the running mean of its figure gets here, or when its time is up
ENOUGH = {"vision": ("glyph", 0.97), "lines": ("token", 0.80)}
LIMITS = {"vision": 30.0, "lines": 12.0}  # minutes
WARM_UP = 40  # steps
BUDGET = 4200  # visual tokens a step
ROWS = 8000  # visual tokens and text a step on whole pages
PAIRS = 0.06  # share of steps on prompts of two pages
GUIDE_WEIGHT = 0.4
MISREAD = 0.02  # share of an answer's characters that the model is given wrongly
LAYERS_HERE, LAYERS_AHEAD = (1, 4), (3, 5, 7)
LONG = 5.0  # minutes; shorter runs are trials, for which minutes of set-up don't pay
SAVE_EVERY = 180.0  # seconds
CHECK_EVERY = 1800.0  # seconds; free-running answers cost much of a minute


@dataclass(slots=True)
class Progress:
    """What a resumed run needs beside the weights."""

    stage: str = STAGES[0]  # the one to go on with
    minutes: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    steps: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    layers: int = LAYERS
    width: int = WIDTH

    @classmethod
    def read(cls, folder: Path) -> "Progress":
        """What `Trainer.save` wrote."""
        return cls(**json.loads((folder / "progress.json").read_text()))


class Trainer:
    """The model, its training-only glyph heads and guides, and the optimizer."""

    def __init__(self, device: str, layers: int = LAYERS, width: int = WIDTH) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = build_model(layers, width).to(device).train()
        visual, text = self.model.model.visual, self.model.model.language_model
        patches = visual.patch_embed.proj
        # its stride is its kernel, so it is a matrix product, whose backward is far faster
        visual.patch_embed.forward = lambda rows: F.linear(
            rows, patches.weight.flatten(1), patches.bias
        )
        self.glyph_heads = nn.ModuleList(
            nn.Linear(width, SLOTS * CLASSES)
            for width in (visual.config.hidden_size, visual.config.out_hidden_size)
        ).to(device)
        self.here = [Guide(text, layer) for layer in LAYERS_HERE]
        self.ahead = [Guide(text, layer) for layer in LAYERS_AHEAD]
        self.seeing = [*visual.parameters(), *self.glyph_heads.parameters()]
        self.reading = list(text.parameters())
        self.optimizer = MuonAdamW((self.seeing, self.reading), layers=(visual.blocks, text.layers))

    def compile(self) -> None:
        """Fuse what stands between the matrix products: a third less time a step on two cores.

        The first steps take a minute longer, and a compiler is needed (`compiler_for`).
        """
        torch._dynamo.config.recompile_limit = 64  # every layer counts as a variant
        for layer in self.model.model.language_model.layers:
            layer.compile(dynamic=True)
        for block in self.model.model.visual.blocks:
            block.mlp.compile(dynamic=True)

    def enter(self, stage: str) -> None:
        """Freeze what the stage does not train."""
        for parameters, share in zip((self.seeing, self.reading), SHARES[stage], strict=True):
            for p in parameters:
                p.requires_grad_(share > 0)

    def _see(self, images: Tensor) -> tuple[Tensor, Tensor]:
        rows, grid = pixel_rows(images)
        out = self.model.model.visual(rows.to(self.device), grid_thw=grid.to(self.device))
        return out.last_hidden_state, out.pooler_output

    def _glyph_loss(self, seen: tuple[Tensor, Tensor], labels: Tensor) -> tuple[Tensor, float]:
        """Cross-entropy of characters plus 0.3 times that of blanks; share of characters right."""
        goal, right, total = labels.reshape(-1), 0.0, torch.zeros((), device=self.device)
        ink = goal > 0
        for head, features in zip(self.glyph_heads, seen, strict=True):
            logits = head(features).float().view(-1, CLASSES)
            each = F.cross_entropy(logits, goal, reduction="none")
            total = total + each[ink].mean() + 0.3 * each[~ink].mean()
            right = (logits.argmax(-1) == goal)[ink].float().mean().item()
        return total, right

    def _read(self, seen: Tensor, s: Sequences) -> tuple[Tensor, dict[str, float]]:
        """Next-token loss of the answers plus guided attention."""
        text = self.model.model.language_model
        embedded = text.embed_tokens(s.ids)
        place = (s.ids == IMAGE)[..., None].expand_as(embedded)
        embedded = embedded.masked_scatter(place, seen.to(embedded.dtype))
        hidden = text(
            inputs_embeds=embedded,
            position_ids=s.positions,
            attention_mask=s.mask,
            use_cache=False,
        ).last_hidden_state
        answer = s.goals != -100
        logits = self.model.lm_head(hidden[answer]).float()
        goal, weights = s.goals[answer], s.weights[answer]
        visual = int((s.ids[0] == VISION_END).nonzero().max())
        here = [g.loss(s.here, s.mask, visual, s.weights) for g in self.here]
        ahead = [g.loss(s.ahead, s.mask, visual, s.weights) for g in self.ahead]
        token = (F.cross_entropy(logits, goal, reduction="none") * weights).sum() / weights.sum()
        right = (logits.argmax(-1) == goal).float().mean().item()
        loss = token + GUIDE_WEIGHT * sum(x for x, _ in here + ahead)
        hits = {"here": here[-1][1], "ahead": ahead[-1][1]}
        return loss, {"loss": token.item(), "token": right, **hits}

    def step(self, stage: str, batch: Batch, rate: float) -> dict[str, float]:
        """One update; returns figures of the batch."""
        images = torch.from_numpy(batch.images)
        labels = torch.from_numpy(batch.labels).long().to(self.device)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            with torch.set_grad_enabled(SHARES[stage][0] > 0):
                seen = self._see(images)
            figures: dict[str, float] = {}
            loss = torch.zeros((), device=self.device)
            if SHARES[stage][0] > 0:
                glyph, figures["glyph"] = self._glyph_loss(seen, labels)
                loss = loss + glyph
            if SHARES[stage][1] > 0:
                s = misread(build(batch), MISREAD)
                s = Sequences(*(getattr(s, f).to(self.device) for f in Sequences.__slots__))
                read, more = self._read(seen[1], s)
                loss, figures = loss + read, figures | more
        self.optimizer.step([loss], [rate * share for share in SHARES[stage]])
        return figures

    # --- on disk: safetensors and JSON only
    def _named(self) -> list[tuple[str, nn.Parameter]]:
        named = [(f"model.{n}", p) for n, p in self.model.named_parameters()]
        return named + [(f"glyph.{n}", p) for n, p in self.glyph_heads.named_parameters()]

    def save(self, folder: Path, progress: Progress) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        tensors = self.optimizer.tensors(self._named())
        save_file(tensors, folder / "checkpoint.new")
        (folder / "checkpoint.new").replace(folder / "checkpoint.safetensors")
        (folder / "progress.json").write_text(json.dumps(asdict(progress), indent=1))

    def load(self, folder: Path) -> None:
        tensors = load_file(folder / "checkpoint.safetensors")
        self.optimizer.load(self._named(), tensors)

    def start_from(self, folder: Path) -> None:
        """Take the weights of a finished model; the glyph heads are new."""
        self.model.load_state_dict(
            {k: v.float() for k, v in load_file(folder / "model.safetensors").items()},
            strict=False,  # the output layer is tied to the embedding
        )


CARD = """---
license: mit
pipeline_tag: image-text-to-text
---
# The embedded target

A tiny `Qwen3VLForConditionalGeneration`, unmodified, trained from scratch by this project on
documents that its own generator draws. It makes demo, tests and benchmarks real on a CPU.

| | |
|---|---|
| weights | `{revision}` (sha256, as traces and heads name it) |
| parameters | {text:.1f} M text ({layers} layers x {width}), {vision:.1f} M vision |
| visual token | one 14 x 14 px cell of the page, at most 1,024 a page |
| text token | one character; other scripts as UTF-8 bytes |
| seed | 0 |
| date | {date} |
| command | `python -m glance train target` |
| torch, transformers | {torch}, {transformers} |
| stored, run | bfloat16, float32 |
| licence | MIT, weights and data; the faces that pages are set in have their own free licences |

## Data
Receipts, invoices, forms, tables, charts, infographics, letters and signs, in at least three
layouts each, eleven faces and 10 to 24 px print; four in ten pages clean, four with one
degradation, two with more. Questions are of six tasks (`transcribe`, `docvqa`, `infovqa`,
`chartqa`, `textvqa`, `caption`) with follow-ups, prompts of two pages and 5% that the page does
not answer ("not on the page"). No page, value of five or more characters, or test layout is shared
with the validation and test splits. Last run: {pages} pages.

## Recipe
Stages of this run and those it went on from: {stages}.
`vision`: every visual token names the characters in it. `lines`: single lines are read, and chosen
attention heads are told where to look. `pages`: whole pages with all their questions, everything
trained together. Muon for the layers' matrices, AdamW for the rest.

## Figures
See docs/results.md of the project; the last check of this run on {checked} validation pages:
character error rate {cer:.1%}, answers exact {exact:.0%}.

## Limits
Latin print of 10 px and more, pages like those above. It copies; it does not know the world, does
not count or add up, and reads no handwriting and no other scripts.
"""


def write_folder(
    trainer: Trainer, folder: Path, progress: Progress, pages: int, figures: dict[str, float]
) -> None:
    """The model as an ordinary Hugging Face folder with bf16 weights and a card."""
    build_processor().save_pretrained(folder)
    weights = {
        k: v.detach().to("cpu", torch.bfloat16) for k, v in trainer.model.state_dict().items()
    }
    config = trainer.model.config
    config.save_pretrained(folder)
    trainer.model.generation_config.save_pretrained(folder)
    weights.pop("lm_head.weight", None)  # tied to the embedding
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    text, vision = trainer.model.model.language_model, trainer.model.model.visual
    card = CARD.format(
        revision=weights_revision(folder),
        checked=figures["pages"],
        cer=figures["cer"],
        exact=figures["exact"],
        text=sum(p.numel() for p in text.parameters()) / 1e6,
        vision=sum(p.numel() for p in vision.parameters()) / 1e6,
        layers=config.text_config.num_hidden_layers,
        width=config.text_config.hidden_size,
        stages=", ".join(
            f"{stage} {progress.steps[stage]} steps ({progress.minutes[stage]:.0f} min)"
            for stage in STAGES
        ),
        pages=pages,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        torch=torch.__version__,
        transformers=transformers.__version__,
    )
    (folder / "README.md").write_text(card, encoding="utf-8")


def compiler_for(device: str) -> str | None:
    """The compiler that compiled layers need: of C++, or of C for what launches them on a GPU."""
    return shutil.which("g++" if device == "cpu" else os.environ.get("CC", "gcc"))


def _batches(sampler: Sampler, stage: str, done: float, count: int) -> Iterator[Batch]:
    """Batches of one of `count` processes.

    `done`: minutes already spent in the stage; strips grow into pages over its first ten.
    """
    started = time.monotonic()
    budget, rows = BUDGET // count, ROWS // count
    while True:
        t = done + (time.monotonic() - started) / 60
        drawn, height = sampler.plan.random(), sampler.plan.random()
        if stage == "vision":
            yield sampler.windows(size=56 // count)
        elif stage == "lines":
            yield sampler.strips(budget, rows=3)
        elif drawn < max(0.12, 0.8 - t / 12):
            yield sampler.strips(budget, rows=3 + int(height * (min(6 + int(t), 14) - 2)))
        elif drawn > 1 - PAIRS:
            yield sampler.pairs(budget)
        else:
            yield sampler.whole(rows)


def _rate(stage: str, step: int, share: float) -> float:
    """Warm-up, a flat top, then a linear fall over the last third of the stage's time."""
    fall = min(1.0, (1.0 - share) / 0.35)
    return RATES[stage] * min(1.0, (step + 1) / WARM_UP) * max(fall, 0.02)


@torch.compiler.set_stance("force_eager")
def _check(trainer: Trainer, count: int) -> dict[str, float]:
    """Free-running figures on validation pages, through the class's own `generate`."""
    trainer.model.eval()
    processor = build_processor()
    errors = length = right = asked = 0
    for i in range(count):
        p = page("validation", i)
        others = [q for q in p.questions[1:] if not q.history]
        for q in [p.questions[0], *others[:2]]:
            got = read_page(trainer.model, processor, p.image, q.question, len(q.answer) + 20)
            if q.task == "transcribe":
                errors += character_errors(got, q.answer)
                length += len(q.answer)
            else:
                right += got == q.answer
                asked += 1
    trainer.model.train()
    return {"pages": count, "cer": errors / length, "exact": right / asked}


def train(
    out: Path,
    minutes: float,
    resume: bool = False,
    device: str = "cpu",
    pages: int = 9000,
    start: Path = EMBEDDED,
    processes: int | None = None,
    layers: int = LAYERS,
    width: int = WIDTH,
) -> None:
    """Train for `minutes`, at most, and write an HF folder to `out`/model.

    `layers` and `width` are those of the text model; a resumed run keeps those that it had.

    With `resume` the run goes on from `out`/checkpoint.safetensors, or, where there is none, from
    the weights in `start`. The first two stages end when they are good enough or at their limit;
    whatever is left goes to whole pages. Checks are added to `out`/curve.jsonl and drawn to
    curve.svg. Long runs on a CPU take a process a core unless `processes` says otherwise.
    """
    if processes is None:
        processes = (os.cpu_count() or 1) if device == "cpu" and minutes >= LONG else 1
    out.mkdir(parents=True, exist_ok=True)
    run_together(processes, _train, out, minutes, resume, device, pages, start, layers, width)


def _train(
    rank: int,
    count: int,
    out: Path,
    minutes: float,
    resume: bool,
    device: str,
    pages: int,
    start: Path,
    layers: int,
    width: int,
) -> None:
    """One process of a run; the first one speaks, saves and writes."""
    until = time.monotonic() + 60 * minutes
    if device == "cpu":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // count))
    begun = resume and (out / "checkpoint.safetensors").exists()
    progress = Progress.read(out) if begun else Progress(layers=layers, width=width)
    trainer = Trainer(device, progress.layers, progress.width)
    if begun:
        trainer.load(out)
    elif resume:
        _say(f"no checkpoint in {out}: going on from {start}")
        trainer.start_from(start)
    if minutes >= LONG and compiler_for(device):
        trainer.compile()
    _say(f"rendering {pages} pages")
    done = sum(progress.steps.values())
    mine = pages // count
    sampler = Sampler(
        render(
            "train", done * 7 + rank * mine, mine, workers=max(1, (os.cpu_count() or 1) // count)
        ),
        seed=done * count + rank,
        plan=done,
    )
    left = (until - time.monotonic()) / 60
    for stage in STAGES[STAGES.index(progress.stage) :]:
        progress.stage = stage
        # short runs share their time out; some is kept for the last check and for what is written
        most = min(LIMITS[stage], 0.3 * left) if stage in LIMITS else math.inf
        rest = (until - time.monotonic()) / 60 - 0.03 * minutes - (3.0 if minutes >= LONG else 0.0)
        _run_stage(trainer, sampler, progress, min(most, rest), out, count)
        if is_first():
            trainer.save(out, progress)
    if not is_first():
        return
    figures = _report(trainer, progress, 24, out)
    write_folder(trainer, out / "model", progress, pages, figures)
    if minutes >= LONG:
        _say("fitting what tells unlike pages")
        fit_folder(out / "model")


def _report(trainer: Trainer, progress: Progress, count: int, out: Path) -> dict[str, float]:
    """Check, say it, add it to the curve; returns the figures."""
    figures = _check(trainer, count)
    _say(f"validation CER {figures['cer']:.3f}, exact {figures['exact']:.2f}")
    line = {"minutes": round(sum(progress.minutes.values()), 1), **figures}
    with (out / "curve.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    write_curve(out)
    return figures


def _run_stage(
    trainer: Trainer,
    sampler: Sampler,
    progress: Progress,
    minutes: float,
    out: Path,
    count: int,
) -> None:
    """Train the current stage until it is good enough or `minutes` are over."""
    stage = progress.stage
    trainer.enter(stage)
    start = saved = checked = time.monotonic()
    before, first, level = progress.minutes[stage], progress.steps[stage], 0.0
    key, enough = ENOUGH.get(stage, ("loss", math.inf))
    for batch in _batches(sampler, stage, before, count):
        step = progress.steps[stage]
        spent = (time.monotonic() - start) / 60
        # every process ends after the same step, and steps at the same rate; what came before may
        # have taken all the time
        share, level = agree(spent / minutes if minutes > 0 else 1.0, level)
        if step > first and (share >= 1.0 or level > enough):
            return
        figures = trainer.step(stage, batch, _rate(stage, step - first, share))
        level += 0.05 * (figures.get(key, 0.0) - level)
        progress.steps[stage] += 1
        progress.minutes[stage] = before + spent
        if not is_first():
            continue
        if step % 20 == 0:
            shown = " ".join(f"{k} {v:.3f}" for k, v in figures.items())
            _say(f"{stage} {step} {shown} ({minutes - spent:.1f} min left)")
        if time.monotonic() - saved > SAVE_EVERY:
            trainer.save(out, progress)
            saved = time.monotonic()
        if stage == STAGES[-1] and time.monotonic() - checked > CHECK_EVERY:
            _report(trainer, progress, 8, out)
            checked = time.monotonic()


def _say(text: str) -> None:
    """Progress goes to stderr, from the first process."""
    if is_first():
        print(text, file=sys.stderr, flush=True)
