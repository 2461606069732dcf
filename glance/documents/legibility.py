"""How tall the text of an image is, from the heights of its letters. No model, no torch.

Ink is what differs from its surroundings; connected ink is a letter, or a few that touch; letters
are text where most of them have a neighbour of like height on the same baseline. In Latin print the
height that about three letters in four stay within is that of capitals and digits, which is a
nearly fixed share of the font size in every face.
"""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageFilter

CAPITALS = 0.742  # height of the tall letters over the font size; median over drawn pages
TALL = 76  # percentile of letter heights that is the tall letters'
AREA = 500_000  # px in which letters are looked for
LARGEST_SCALE = 2.0  # small images are enlarged this much, so that heights come in half pixels
SURROUNDINGS = 24  # px around a pixel that say what its paper is like
LEAST_INK = 8  # grey levels between ink and paper
LEAST_HEIGHT = 6  # px; anything lower is a dot or noise
LETTERS = 3  # fewer are no text
SAMPLE = 250  # letters whose neighbours are looked for
IN_LINES = 0.3  # share of letters with a neighbour that makes text: pages 0.45 on, photos up to 0.2
SHARP = 14  # px; smaller text has lost its letters' shapes in a reduced copy
CROP, CROPS = 208, 9  # px a side of the full-size pieces of a large image, and how many
TOUCHING = 0.75  # width over height from which on ink is more than one letter
SPACED = 1.15  # characters over inked ones; both fitted to drawn pages

Array = np.ndarray


def text_height(image: Image.Image) -> float | None:
    """Font size of an image's body text in its own pixels; None where there is no text.

    Args:
        image: mode RGB or L, text roughly upright; print on a page, a screen or a photo.
    """
    factor = math.ceil(math.sqrt(image.width * image.height / AREA))
    if factor == 1:
        return _font_size(*_enlarged(image.convert("L")))
    reduced = image.reduce(factor).convert("L")
    coarse = _font_size(reduced, 1 / factor)
    if coarse and coarse >= SHARP * factor:
        return coarse
    return _font_size(*_enlarged(_pieces(image, reduced, factor))) or coarse


def text_length(image: Image.Image) -> int:
    """About how many characters stand on an image, spaces too; 0 where there is no text.

    Letters that touch count by their width: mostly within a fifth on clean pages, less where print
    is small for the image.

    Args:
        image: as for `text_height`.
    """
    factor = math.ceil(math.sqrt(image.width * image.height / AREA))
    grey, _ = _enlarged(image.reduce(factor).convert("L"))
    if _letters_in_lines(grey)[1] < IN_LINES:
        return 0
    letters = _letters(_boxes(_ink(grey)), grey.height)
    wide, tall = letters[:, 2] - letters[:, 0], letters[:, 3] - letters[:, 1]
    return round(SPACED * float(np.maximum(1, wide / tall / TOUCHING).sum()))


def share_in_lines(image: Image.Image) -> float:
    """How much of what could be letters stands in lines: 0 to 1; 0 where there is no ink.

    Args:
        image: mode RGB or L, at the size at which a model reads it.
    """
    return _letters_in_lines(_enlarged(image.convert("L"))[0])[1]


def _enlarged(grey: Image.Image) -> tuple[Image.Image, float]:  # the copy, its scale
    scale = min(LARGEST_SCALE, math.sqrt(AREA / (grey.width * grey.height)))
    size = round(grey.width * scale), round(grey.height * scale)
    copy = grey.resize(size, Image.Resampling.BICUBIC)
    return copy.filter(ImageFilter.GaussianBlur(0.8)), scale


def _pieces(image: Image.Image, reduced: Image.Image, factor: int) -> Image.Image:
    """Full-size crops of a large image side by side: some of its busiest, some less busy."""
    side = min(CROP, *image.size) // factor  # px of the reduced copy
    columns, rows = reduced.width // side, reduced.height // side
    grey = np.asarray(reduced, np.int16)[: rows * side, : columns * side]
    edges = np.abs(np.diff(grey, axis=1, append=grey[:, -1:])) > LEAST_INK
    busy = edges.reshape(rows, side, columns, side).mean((1, 3)).ravel()
    order = np.argsort(-busy)
    order = order[busy[order] >= 0.3 * busy.max()]
    across, full = math.isqrt(CROPS), side * factor
    sheet = Image.new("L", (across * full, across * full), int(np.median(grey)))
    for place, n in enumerate(np.unique(np.linspace(0, len(order) - 1, CROPS).astype(int))):
        row, column = divmod(int(order[n]), columns)
        x, y = column * full, row * full
        crop = image.crop((x, y, x + full, y + full)).convert("L")
        sheet.paste(crop, (place % across * full, place // across * full))
    return sheet


def _font_size(grey: Image.Image, scale: float) -> float | None:
    """Font size of the text in a copy of an image, in pixels of the image itself."""
    heights, share = _letters_in_lines(grey)
    if len(heights) < LETTERS or share < IN_LINES:
        return None
    return float(np.percentile(heights, TALL)) / CAPITALS / scale


def _letters_in_lines(grey: Image.Image) -> tuple[Array, float]:
    """Heights of the letters that have a neighbour, px, and their share of all; of a sample."""
    letters = _letters(_boxes(_ink(grey)), grey.height)
    if not len(letters):
        return np.zeros(0), 0.0
    count = min(SAMPLE, len(letters))
    chosen = letters[np.linspace(0, len(letters), count, endpoint=False).astype(int)]
    in_line = _neighboured(chosen, letters)
    return (chosen[:, 3] - chosen[:, 1])[in_line], float(in_line.mean())


def _ink(grey: Image.Image) -> Array:  # bool [H, W]
    """Where a pixel is far from its surroundings, on the side on which more is: dark or light."""
    around = np.asarray(grey.filter(ImageFilter.BoxBlur(SURROUNDINGS)), np.int16)
    depth = around - np.asarray(grey, np.int16)  # positive where darker
    counts = np.bincount((depth + 255).ravel(), minlength=511)
    if counts @ np.arange(-255.0, 256.0) ** 3 < 0:  # the long tail is light: light ink
        depth, counts = -depth, counts[::-1]
    dark = counts[256:]  # of depth 1, 2, ...
    reached = np.cumsum(dark[::-1])[::-1] > 1e-4 * depth.size  # a few pixels are no ink
    deepest = int(reached.sum())
    tail = np.cumsum(dark[deepest // 4 :])
    middle = deepest // 4 + 1 + int(np.searchsorted(tail, tail[-1] / 2))
    return depth > max(LEAST_INK, middle / 2)


def _boxes(ink: Array) -> Array:  # [k, 5]: left, top, right, bottom, area
    """Boxes of the connected components of a bool image [H, W], diagonals included.

    Runs of ink in a row are joined to the runs that they touch in the next one.
    """
    width = ink.shape[1] + 1
    edges = np.diff(np.pad(ink.astype(np.int8), ((0, 0), (1, 1)))).ravel()
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    low = np.searchsorted(ends, starts + width)
    count = np.searchsorted(starts, ends + width, side="right") - low
    above = np.repeat(np.arange(len(starts)), count)
    below = np.arange(count.sum()) + np.repeat(low - np.cumsum(count) + count, count)
    runs = _joined(len(starts), above, below)
    order = np.argsort(runs, kind="stable")
    first = np.flatnonzero(np.diff(runs[order], prepend=-1))
    if not len(first):
        return np.zeros((0, 5))
    y, left, right = starts // width, starts % width, ends % width
    return np.stack(
        [
            np.minimum.reduceat(left[order], first),
            np.minimum.reduceat(y[order], first),
            np.maximum.reduceat(right[order], first),
            np.maximum.reduceat(y[order], first) + 1,
            np.add.reduceat((right - left)[order], first),
        ],
        axis=1,
    ).astype(float)


def _joined(count: int, one: Array, other: Array) -> Array:  # [count]
    """The smallest number that each of 0..count-1 is linked to, by links one[i] - other[i]."""
    label = np.arange(count)
    while True:
        a, b = label[one], label[other]
        apart = a != b
        if not apart.any():
            return label
        one, other = one[apart], other[apart]
        a, b = a[apart], b[apart]
        np.minimum.at(label, np.maximum(a, b), np.minimum(a, b))
        while (label != label[label]).any():
            label = label[label]


def _letters(boxes: Array, height: int) -> Array:
    """The boxes that may be letters or short words, of an image that is `height` px high."""
    wide, tall = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    shape = (wide > 0.12 * tall) & (wide < 12 * tall) & (boxes[:, 4] > 0.12 * wide * tall)
    return boxes[shape & (tall >= LEAST_HEIGHT) & (tall < height / 3)]


def _neighboured(chosen: Array, letters: Array) -> Array:  # bool [len(chosen)]
    """Whether a box has another beside it, of like height, on the same baseline."""
    left, top, right, bottom = (chosen[:, i, None] for i in range(4))
    tall = bottom - top
    gap = np.maximum(letters[:, 0] - right, left - letters[:, 2])
    ratio = (letters[:, 3] - letters[:, 1]) / tall
    near = (gap > -0.3 * tall) & (gap < tall) & (ratio > 0.55) & (ratio < 1.8)
    near &= np.abs(letters[:, 3] - bottom) < 0.3 * tall
    return near.sum(1) > 1  # each is near itself
