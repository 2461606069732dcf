"""`bench-gpu`: what a round costs at full size on this GPU, with random weights."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from glance.cli.output import Cell, note, show, show_table, write_json
from glance.lane import STAGES
from glance.machine import load
from glance.markdown import figure, table
from glance.trace import provenance

if TYPE_CHECKING:
    from glance.bench_gpu.measure import Measured

HEADS = ("lane", "tau", *STAGES, "ms/round", "ms/token", "x ar", "of floor")
NO_GPU = "There is no GPU here: this is a small shape on the CPU, and its times mean nothing."
LEGEND = (
    "Random weights of the true shapes; tau is played back from a script, everything else is paid "
    "for. Stages in ms a round; of floor: the time to read weights and cache once, at the measured "
    "copy bandwidth, as a share of the round's."
)


def run(options: Namespace) -> int:
    """Time every shape; tables to stdout and, as soon as each is there, to the folder.

    2 if no shape could be timed.
    """
    import gc

    import torch

    from glance.bench_gpu.measure import Setting, measure
    from glance.bench_gpu.shapes import FULL, SMALL, Shape
    from glance.engine.engine import EngineError

    options.out.mkdir(parents=True, exist_ok=True)
    gpu = torch.cuda.is_available()
    shapes: tuple[Shape, ...]
    if gpu:
        device, dtype, shapes, setting = torch.device("cuda"), torch.bfloat16, FULL, Setting()
        name = torch.cuda.get_device_name()
    else:
        device, dtype, shapes = torch.device("cpu"), torch.float32, (SMALL,)
        setting, name = Setting(context=64, rounds=6, copied=1 << 20), "CPU"
    results: list[Measured] = []
    left_out: list[str] = []
    text = [f"# bench-gpu on {name}", "", LEGEND if gpu else NO_GPU]
    for shape in shapes:
        note(f"{shape.name} on {name}")
        try:
            result = measure(shape, device, dtype, setting)
        except (torch.OutOfMemoryError, EngineError) as error:
            words = f"{shape.name} does not fit into the memory of {name}."
            if isinstance(error, EngineError):
                words = f"{shape.name} cannot be timed: {error}"
            note(words)
            text += ["", words]
            left_out.append(words)
        else:
            results.append(result)
            text += _shown(result)
        if gpu:
            gc.collect()  # an engine and its blocks hold each other
            torch.cuda.empty_cache()
        (options.out / "bench_gpu.md").write_text("\n".join(text) + "\n", encoding="utf-8")
        write_json(
            options.out / "bench_gpu.json",
            {
                "device": name,
                "means_anything": gpu,
                "shapes": [result.to_json() for result in results],
                "left_out": left_out,
                "load": load(),
                "provenance": provenance(),
            },
        )
    show(LEGEND if gpu else NO_GPU)
    return 0 if results else 2


def _shown(result: Measured) -> list[str]:
    """Print a shape's tables; the same in Markdown."""
    title, drafts = _title(result), _drafts(result)
    rows = _rows(result)
    show(title)
    show_table(HEADS, rows)
    show(drafts)
    show()
    cells = [[_cell(each) for each in row] for row in rows]
    text = ["", f"## {title}", "", *table(HEADS, cells), "", drafts]
    for notice in result.notices:
        note(notice)
        text += ["", notice]
    return text


def _title(result: Measured) -> str:
    return (
        f"{result.shape}, {result.dtype}, {result.context:,} tokens of context, "
        f"{result.bandwidth:,.0f} GB/s"
    )


def _drafts(result: Measured) -> str:
    return (
        f"One draft pass of the block head {result.block_draft_ms:.2f} ms, eight passes of an "
        f"EAGLE-3 head with 32 nodes {result.eagle3_draft_ms:.2f} ms."
    )


def _rows(result: Measured) -> list[list[Cell]]:
    return [
        [
            row.lane,
            row.tau if row.stages else None,
            *(row.stages.get(stage) for stage in STAGES),
            row.whole,
            row.token,
            row.speedup,
            row.of_floor,
        ]
        for row in result.rows
    ]


def _cell(value: Cell) -> str:
    return value if isinstance(value, str) else figure(value)
