"""Charts by matplotlib: upright and lying bars, lines, pies, groups, all values printed.

Lines are in the order that the generator's charts have: what stands over a mark is a line of its
own, marks from left to right; the labels under them share one line.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any, Literal

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from glance.documents.values import number_in
from tests.foreign.record import Drawn, Paper, UnfitError

KIND = "chart"
SIZES = ((448, 336), (420, 308), (392, 392), (364, 420), (476, 364), (392, 308))
STYLES = (
    "default",
    "ggplot",
    "bmh",
    "fivethirtyeight",
    "Solarize_Light2",
    "seaborn-v0_8-whitegrid",
    "seaborn-v0_8-pastel",
    "tableau-colorblind10",
    "dark_background",
    "grayscale",
)
FACES = ("DejaVu Sans", "DejaVu Sans", "STIXGeneral", "DejaVu Serif", "Lato", "Noto Sans", "Cabin")
UNITS = ("units sold", "tonnes", "visits a day", "boxes", "hours", "members")
DPI = 72  # so that a point is a pixel


class Chart(Paper):
    """One figure: its labels and values, and the text drawn so far."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.size = self.rng.randint(11, 15)
        self.style = self.rng.choice(STYLES)
        self.face = self.rng.choice(FACES)
        self.extent = self.rng.choice(SIZES)
        self.percent = self.rng.random() < 0.3
        self.lines: list[str] = []
        self.texts: list[Text] = []

    def note(self, *texts: Text) -> None:
        """Take the texts as one line of the transcription."""
        self.texts += texts
        self.lines.append(" ".join(t.get_text().replace("\n", " ") for t in texts))

    def numbers(self, n: int) -> list[str]:
        """`n` different values written alike, none more than three times another."""
        make = self.v.percent if self.percent else self.v.count
        found: dict[float, str] = {}
        first = make().text
        for _ in range(2000):
            text = make().text
            alike = ("." in text) == ("." in first)
            every = [*found, number_in(text)]
            if alike and min(every) > 1 and max(every) <= 3 * min(every):
                found.setdefault(number_in(text), text)
            if len(found) == n:
                return list(found.values())
        raise UnfitError("no alike values")

    def names(self, n: int) -> list[str]:
        months = self.rng.random() < 0.25
        return [v.text for v in (self.v.month_labels(n) if months else self.v.labels(n))]

    def ask_all(self, labels: list[str], values: list[str], joined: bool) -> None:
        """Questions about labels and values; `joined` when each pair is one line."""
        sizes = [number_in(v) for v in values]
        i, j = self.rng.sample(range(len(labels)), 2)
        self.ask("value_of", values[i], nouns=f"the value of {labels[i]}")
        nouns = f"the label with the value {values[j]}|the entry that has {values[j]}"
        self.ask("label_of", labels[j], nouns=nouns)
        self.ask("highest", labels[sizes.index(max(sizes))])
        self.ask("lowest", labels[sizes.index(min(sizes))])
        if joined:
            pairs = [f"{a} {b}" for a, b in zip(labels, values, strict=True)]
            self.ask("all_values", *pairs)
        else:
            self.ask("labels", *labels)


def start(c: Chart, unit: bool) -> tuple[Figure, Axes]:
    """A figure with a title and, if `unit`, perhaps a unit under it."""
    width, height = c.extent
    figure, axes = plt.subplots(figsize=(width / DPI, height / DPI), dpi=DPI, layout="constrained")
    title = c.v.headline(2, 4).text
    side: Literal["left", "center"] = c.rng.choice(("left", "center"))
    x = 0.03 if side == "left" else 0.5
    scale = c.rng.choice((1.0, 1.15, 1.3))
    bold = c.rng.choice(("bold", "normal"))
    top = figure.suptitle(title, x=x, ha=side, fontsize=min(22, c.size * scale), fontweight=bold)
    c.note(top)
    if unit and not c.percent and c.rng.random() < 0.6:
        name = c.rng.choice(UNITS)
        c.note(axes.set_title(name, fontsize=c.size, loc=side, fontweight="normal"))
        c.ask("unit", name)
    elif c.rng.random() < 0.5:
        c.ask("title", title)
    return figure, axes


def finish(c: Chart, figure: Figure) -> Image.Image:
    """Add the source, draw, and check that all text is inside the figure and apart."""
    source = c.rng.choice((c.v.company, c.v.website))().text
    if c.rng.random() < 0.6:
        foot = figure.supxlabel(f"Source: {source}", fontsize=c.size, x=0.03, ha="left")
        c.note(foot)
        c.ask("source", source)
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in c.texts]
    width, height = c.extent
    for b in boxes:
        if b.x0 < 2 or b.y0 < 2 or b.x1 > width - 2 or b.y1 > height - 2:
            raise UnfitError("text leaves the figure")
    if any(a.padded(1).overlaps(b) for a, b in combinations(boxes, 2)):
        raise UnfitError("texts run into each other")
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")  # type: ignore[attr-defined]


def ticks(c: Chart, axes: Axes, labels: list[str]) -> list[Text]:
    """Label the upright chart's marks 0, 1, 2, … and leave out the value axis's numbers."""
    axes.set_xticks(range(len(labels)), labels, fontsize=c.size)
    axes.set_yticklabels([])
    axes.margins(y=0.18)
    if c.rng.random() < 0.4:
        axes.grid(axis="x", visible=False)
    if c.rng.random() < 0.4:
        axes.spines[["top", "right"]].set_visible(False)
    return axes.get_xticklabels()


def over(c: Chart, axes: Axes, x: float, y: float, value: str) -> None:
    """Print a value over a mark; the ground behind it hides lines."""
    text = axes.annotate(
        value, (x, y), (0, 6), textcoords="offset points", ha="center", fontsize=c.size
    )
    text.set_bbox({"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.6})
    c.note(text)


def name_axis(c: Chart, axes: Axes) -> None:
    if c.rng.random() < 0.4:
        name = c.rng.choice(("Group", "Name", "Series", "Label"))
        axes.set_xlabel(name, fontsize=c.size)
        c.note(axes.xaxis.label)
        c.ask("axis", name)


def bar(c: Chart, axes: Axes) -> None:
    labels = c.names(c.rng.randint(4, 6))
    values = c.numbers(len(labels))
    heights = [number_in(v) for v in values]
    colours = [f"C{i}" for i in range(len(labels))] if c.rng.random() < 0.4 else None
    hatch = c.rng.choice((None, None, "//", ".."))
    width = c.rng.uniform(0.5, 0.85)
    axes.bar(range(len(labels)), heights, width, color=colours, hatch=hatch, edgecolor="0.3")
    for i, (height, value) in enumerate(zip(heights, values, strict=True)):
        over(c, axes, i, height, value)
    c.note(*ticks(c, axes, labels))
    name_axis(c, axes)
    c.ask_all(labels, values, joined=False)


def barh(c: Chart, axes: Axes) -> None:
    labels = c.names(c.rng.randint(5, 8))
    values = c.numbers(len(labels))
    lengths = [number_in(v) for v in values]
    axes.barh(range(len(labels)), lengths, c.rng.uniform(0.5, 0.8), color=f"C{c.rng.randrange(5)}")
    axes.set_yticks(range(len(labels)), labels, fontsize=c.size)
    axes.invert_yaxis()
    axes.set_xticklabels([])
    axes.margins(x=0.3)
    axes.grid(axis="y", visible=False)
    for i, (label, length, value) in enumerate(
        zip(axes.get_yticklabels(), lengths, values, strict=True)
    ):
        text = axes.annotate(
            value, (length, i), (4, 0), textcoords="offset points", va="center", fontsize=c.size
        )
        c.note(label, text)
    c.ask_all(labels, values, joined=True)


def line(c: Chart, axes: Axes) -> None:
    labels = c.names(c.rng.randint(4, 6))
    values = c.numbers(len(labels))
    heights = [number_in(v) for v in values]
    marker, dashes = c.rng.choice("os^D"), c.rng.choice(("-", "--", "-."))
    colour = f"C{c.rng.randrange(5)}"
    axes.plot(range(len(labels)), heights, color=colour, lw=2, marker=marker, linestyle=dashes)
    if c.rng.random() < 0.4:
        axes.fill_between(range(len(labels)), heights, min(heights) * 0.8, alpha=0.2)
    for i, (height, value) in enumerate(zip(heights, values, strict=True)):
        over(c, axes, i, height, value)
    axes.set_xlim(-0.5, len(labels) - 0.5)
    c.note(*ticks(c, axes, labels))
    name_axis(c, axes)
    c.ask_all(labels, values, joined=False)


def pie(c: Chart, axes: Axes) -> None:
    """A pie or a ring with a legend of labels and values."""
    labels = c.names(c.rng.randint(3, 5))
    cuts = sorted(c.rng.sample(range(6, 95), len(labels) - 1))
    shares = [b - a for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]
    if len(set(shares)) < len(shares) or min(shares) < 5:
        raise UnfitError("shares alike or tiny")
    ring = {"width": 0.45} if c.rng.random() < 0.5 else {}
    wedges, _ = axes.pie(shares, startangle=90, wedgeprops={"edgecolor": "white", **ring})
    values = [f"{s}%" for s in shares]
    pairs = [f"{a} {b}" for a, b in zip(labels, values, strict=True)]
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    if c.extent[1] > c.extent[0] or c.rng.random() < 0.3:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    legend = axes.legend(wedges, pairs, fontsize=c.size, frameon=c.rng.random() < 0.5, **place)
    for text in legend.get_texts():
        c.note(text)
    c.ask_all(labels, values, joined=True)


def grouped(c: Chart, axes: Axes) -> None:
    labels, year = c.names(c.rng.randint(2, 4)), c.rng.randint(1990, 2030)
    series = [str(year), str(year + 1)] if c.rng.random() < 0.5 else [v.text for v in c.v.labels(2)]
    values = c.numbers(2 * len(labels))
    sides = values[: len(labels)], values[len(labels) :]
    for k, side in enumerate(sides):
        at = [i + 0.4 * k - 0.2 for i in range(len(labels))]
        axes.bar(at, [number_in(v) for v in side], 0.38, label=series[k])
    figure = axes.get_figure()
    assert figure is not None
    legend = figure.legend(
        loc="outside lower left", ncols=2, fontsize=c.size, frameon=c.rng.random() < 0.5
    )
    for i in range(len(labels)):
        for k, side in enumerate(sides):
            over(c, axes, i + 0.4 * k - 0.2, number_in(side[i]), side[i])
    c.note(*ticks(c, axes, labels))
    c.note(*legend.get_texts())
    i, k = c.rng.randrange(len(labels)), c.rng.randrange(2)
    c.ask("value_of", sides[k][i], nouns=f"the value of {labels[i]} for {series[k]}")
    c.ask("labels", *labels)
    c.ask("fact", *series, nouns="the names of the two series|the entries of the legend")
    top = [number_in(v) for v in sides[1 - k]]
    highest = f"the label with the highest value for {series[1 - k]}"
    c.ask("highest", labels[top.index(max(top))], nouns=highest)


LAYOUTS: dict[str, Callable[[Chart, Axes], None]] = {
    "bar": bar,
    "barh": barh,
    "line": line,
    "pie": pie,
    "grouped": grouped,
}


def draw(layout: str, seed: str) -> tuple[Drawn, Paper]:
    """A chart; raises UnfitError when its text does not fit."""
    c = Chart(seed)
    with plt.style.context(c.style), plt.rc_context({"font.family": c.face}):
        figure, axes = start(c, unit=layout != "pie")
        try:
            LAYOUTS[layout](c, axes)
            image = finish(c, figure)
        finally:
            plt.close(figure)
    return Drawn(KIND, layout, c.face, c.size, image, c.lines), c
