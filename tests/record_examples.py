"""Draw the shipped examples and record their runs; prints what each gains.

Run on a quiet machine, after new weights: python -m tests.record_examples
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

from glance.cli.output import show
from glance.documents.dataset import page
from glance.documents.page import save_sample
from glance.drafters.load import PLAIN
from glance.metrics import speedup
from glance.replay import lanes
from glance.trace import read_trace

ROOT = Path(__file__).parents[1]


class Example(NamedTuple):
    """A page of the test split, and what is asked of it first."""

    kind: str  # names the files, too
    index: int
    type: str  # of one of the page's own questions, whose answer is the right one
    question: str
    title: str


EXAMPLES = (
    Example(
        "receipt", 9038, "transcribe", "Read everything on the page.", "Receipt, tilted: all text"
    ),
    Example(
        "invoice", 9007, "prices", "List the items and prices.", "Invoice in shadow: its items"
    ),
    Example("letter", 9019, "body", "What does the letter say?", "Letter, noisy: what it says"),
    Example(
        "form", 9002, "options", "Could you tell me all options?", "Form, blurred: its options"
    ),
    Example(
        "table",
        9002,
        "row",
        "I need the rows of Quiet towel and Praipfloa coffee.",
        "Table: two rows",
    ),
    Example(
        "chart", 9015, "all_values", "Read every label and value.", "Chart, folded: its values"
    ),
    Example(
        "infographic",
        9033,
        "all_values",
        "List every number and caption.",
        "Infographic, tilted: its numbers",
    ),
    Example(
        "sign", 9007, "fact", "Which year is on the sign?", "Sign: one year, too short to gain"
    ),
)


def record() -> None:
    """Write assets/samples and assets/traces anew."""
    samples, traces = ROOT / "assets/samples", ROOT / "assets/traces"
    for old in (*samples.iterdir(), *traces.iterdir()):
        old.unlink()
    manifest, gains = [], []
    for one in EXAMPLES:
        drawn = page("test", one.index, one.kind)
        wanted = next(q.answer for q in drawn.questions if q.type == one.type)
        save_sample(drawn, samples, one.kind)
        image, trace = samples / f"{one.kind}.png", traces / f"{one.kind}.jsonl"
        command = [
            "ask",
            image.relative_to(ROOT).as_posix(),
            one.question,
            "--trace",
            trace.relative_to(ROOT).as_posix(),
        ]
        subprocess.run([sys.executable, "-m", "glance", *command], check=True, cwd=ROOT)
        manifest.append(
            {
                "id": one.kind,
                "title": one.title,
                "image": image.name,
                "question": one.question,
                "trace": trace.name,
            }
        )
        lane = lanes(read_trace(trace))
        gain = speedup(lane[PLAIN], lane["glance"])
        right = lane["glance"].text == wanted
        show(f"{one.kind}: {'right' if right else f'wrong, wanted {wanted!r}'}; {gain}")
        if gain:
            gains.append(gain.decode)
    (samples / "examples.json").write_text(json.dumps(manifest, indent=2) + "\n")
    show(f"median decode speed-up: {median(gains):.2f}")


if __name__ == "__main__":
    record()
