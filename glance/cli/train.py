"""`train`: the target, then a head for it, from nothing but generated pages; or a head for any
target from questions about images of one's own, in as many processes as were launched."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from glance.cli.main import HEADS
from glance.cli.output import note, show


def run(options: Namespace) -> int:
    """Train for the minutes given and print the folders that hold the weights."""
    out = options.out or Path("runs") / options.what
    if options.resume and not out.is_dir():
        note(f"There is nothing to resume in {out}: leave --resume away, or name the folder.")
        return 2
    if options.what == "target" and (options.target or options.drafter):
        note("The target is trained from nothing: leave --target and --drafter away.")
        return 2
    if options.start and options.what == "target":
        note("Only a head can start from another one: leave --start away.")
        return 2
    if options.all and (options.start or options.what == "target"):
        note("--all trains heads, each from random weights.")
        return 2
    if options.data and options.what == "target":
        note("The target learns from generated pages only: leave --data away.")
        return 2
    if options.taps == "online" and not options.data:
        note("Taps of generated pages are always cached: --taps online needs --data.")
        return 2
    if options.max_pixels and not options.data:
        note("Generated pages have a size of their own: --max-pixels needs --data.")
        return 2
    if options.what == "head" and (options.layers or options.width):
        note("A head has its target's shape: leave --layers and --width away.")
        return 2
    if options.without and (options.all or options.what == "target"):
        note("--without leaves out a part of one head: name it with --drafter.")
        return 2
    if options.rate and options.what == "target":
        note("The target's learning rates are part of its recipe: leave --rate away.")
        return 2
    if options.draft_layers and (options.what == "target" or options.all):
        note("Only the glance head has draft layers: leave --draft-layers away.")
        return 2
    if options.resume and (options.layers or options.width or options.draft_layers):
        note("A resumed run keeps its shape: leave --layers, --width and --draft-layers away.")
        return 2
    note(f"training the {options.what}; checkpoints go to {out}")
    import torch

    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if options.what == "target":
        from glance.training import target

        target.train(
            out,
            options.minutes,
            options.resume,
            device,
            layers=options.layers or target.LAYERS,
            width=options.width or target.WIDTH,
        )
        show(str(out / "model"))
    else:
        from glance.together import is_first, joined
        from glance.training import head

        with joined():
            folders = head.train(
                HEADS if options.all else (options.drafter or "glance",),
                options.target or "embedded",
                out,
                options.minutes,
                options.resume,
                device,
                options.start,
                options.data,
                online=options.taps == "online",
                max_pixels=options.max_pixels,
                without=options.without,
                rates=options.rate,
                draft_layers=options.draft_layers,
            )
            if is_first():
                for folder in folders:
                    show(str(folder))
    return 0
