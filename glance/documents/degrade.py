"""What happens to a page between the printer and the reader: scans, photos, folds, bad files.

Each degradation has a level, 0 for barely there and 1 for hard to read, and is drawn so that a
person still reads 10 px text at level 1. The image keeps its size; only the geometric ones move
text, and `degrade` returns how.
"""

import io
import math
import random
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from glance.documents.warp import IDENTITY, Matrix, move_box, tilt, turn, warp

__all__ = ["NAMES", "Degradation", "Matrix", "degrade", "draw_plan", "move_box"]

# In the order in which they happen to a page.
NAMES = (
    "paper",
    "inverted",
    "raster",
    "fold",
    "shadow",
    "rotation",
    "perspective",
    "contrast",
    "blur",
    "noise",
    "jpeg",
)
RIVALS = (("paper", "inverted"), ("rotation", "perspective"))  # at most one of each pair
LEAST_CONTRAST = 70  # grey levels that stay between ink and paper
FULL_NOISE = 150  # grey levels between ink and paper from which on noise has its full strength
TILE = 32  # px; the contrast of a page is looked at in squares of this side
DESKS = ((96, 66, 44), (150, 112, 76), (52, 52, 56), (122, 126, 130), (214, 208, 198))


@dataclass(frozen=True, slots=True)
class Degradation:
    name: str
    level: float  # 0 (barely there) to 1 (hard)

    def __post_init__(self) -> None:
        if self.name not in NAMES or not 0 <= self.level <= 1:
            raise ValueError(f"no such degradation: {self.name} at level {self.level}")


def draw_plan(rng: random.Random, count: int) -> tuple[Degradation, ...]:
    """Draw `count` distinct degradations with uniform levels, in the order of `NAMES`.

    Raises ValueError when so many do not go together.
    """
    if not 0 <= count <= len(NAMES) - len(RIVALS):
        raise ValueError(f"{count} degradations do not go together")
    left_out = {rng.choice(pair) for pair in RIVALS}
    chosen = rng.sample([n for n in NAMES if n not in left_out], count)
    return tuple(Degradation(n, rng.random()) for n in sorted(chosen, key=NAMES.index))


def degrade(
    image: Image.Image, plan: tuple[Degradation, ...], rng: random.Random, size: int
) -> tuple[Image.Image, Matrix]:
    """Carry out a plan on an RGB page whose body text has `size` px.

    Returns the new image, as large as the old one, and the homography from old pixel coordinates
    to new ones: the identity when nothing moves.
    """
    matrix = IDENTITY
    content = _content(image)
    for step in plan:
        match step.name:
            case "rotation":
                degrees = rng.choice((-1, 1)) * (0.2 + 2.8 * step.level)
                matrix = turn(image.size, degrees, content)
                image = warp(image, matrix, _lid(image, rng))
            case "perspective":
                matrix = tilt(image.size, 0.004 + 0.036 * step.level, rng)
                image = warp(image, matrix, _desk(image.size, rng))
            case _:
                image = _look(image, step, rng, size)
    return image, matrix


def _look(image: Image.Image, step: Degradation, rng: random.Random, size: int) -> Image.Image:
    """The degradations that leave everything in its place."""
    level = step.level
    match step.name:
        case "paper":
            return _paper(image, level, rng)
        case "inverted":
            return _inverted(image, level, rng)
        case "raster":
            return _raster(image, level, rng, size)
        case "fold":
            return _fold(image, level, rng)
        case "shadow":
            return _shadow(image, level, rng)
        case "contrast":
            return _contrast(image, level)
        case "blur":
            return image.filter(ImageFilter.GaussianBlur((0.02 + 0.07 * level) * size))
        case "noise":
            return _noise(image, level, rng)
    return _jpeg(image, level)


# --- what a page is like
def _paper_colour(image: Image.Image) -> tuple[int, int, int]:
    """The commonest value of each channel."""
    r, g, b = np.array(image.histogram()).reshape(3, 256).argmax(1).tolist()
    return r, g, b


def _content(image: Image.Image) -> tuple[float, float, float, float]:
    """The box around everything that is not bare paper."""
    bare = Image.new("RGB", image.size, _paper_colour(image))
    return ImageChops.difference(image, bare).getbbox() or (0, 0, *image.size)


def _ink_contrast(image: Image.Image) -> float:
    """Grey levels between ink and paper where the page's text is palest."""
    w, h = image.size
    inside = w * 6 // 100, h * 6 // 100, w - w * 6 // 100, h - h * 6 // 100  # no desk, no lid
    grey = np.asarray(image.convert("L").crop(inside))
    h, w = (max(side // TILE, 1) for side in grey.shape)
    tall, wide = grey.shape[0] // h, grey.shape[1] // w
    tiles = grey[: h * tall, : w * wide].reshape(h, tall, w, wide)
    spans = tiles.max((1, 3)).astype(float) - tiles.min((1, 3))
    return float(np.percentile(spans[spans >= spans.max() / 2], 10))


# --- paper and ink
def _paper(image: Image.Image, level: float, rng: random.Random) -> Image.Image:
    """Coloured paper; it takes light away, so ink stays as dark as it was."""
    tint = [rng.uniform(0.75, 1.0), rng.uniform(0.8, 1.0), rng.uniform(0.5, 0.95)]
    rng.shuffle(tint)
    strength = 0.2 + 0.8 * level
    lut = [v * (1 - strength * (1 - t)) for t in tint for v in range(256)]
    return image.point([round(v) for v in lut])


def _inverted(image: Image.Image, level: float, rng: random.Random) -> Image.Image:
    """Light ink on dark paper; the higher the level, the closer the two are."""
    lut: list[int] = []
    for _ in range(3):
        dark, light = rng.uniform(0.3, 1.0) * 70 * level, 255 - rng.uniform(0.3, 1.0) * 60 * level
        lut += [round(light + (dark - light) * v / 255) for v in range(256)]
    return image.point(lut)


def _contrast(image: Image.Image, level: float) -> Image.Image:
    """Ink lifted towards the paper."""
    now = _ink_contrast(image)
    least = min(1.0, LEAST_CONTRAST / max(now, 1.0))
    keep = least + max(0.0, 0.9 - least) * (1 - level)
    lut = [p + (v - p) * keep for p in _paper_colour(image) for v in range(256)]
    return image.point([round(v) for v in lut])


# --- rendering
def _raster(image: Image.Image, level: float, rng: random.Random, size: int) -> Image.Image:
    """The page as another program's pixels: resampled off the grid, or sharpened too much."""
    if rng.random() < 1 / 3:
        return image.filter(ImageFilter.UnsharpMask(1, round(60 + 240 * level), 0))
    # Text is never resampled to less than 8.5 px: below that its letters fall together.
    factor = 1 - level * min(0.4, max(0.0, 1 - 8.5 / size))
    dx, dy = rng.random(), rng.random()
    small = max(1, round(image.width * factor)) + 2, max(1, round(image.height * factor)) + 2
    padded = Image.fromarray(np.pad(np.asarray(image), ((2, 6), (2, 6), (0, 0)), mode="edge"))
    corner = 2 - dx, 2 - dy
    box = (*corner, corner[0] + small[0] / factor, corner[1] + small[1] / factor)
    down = rng.choice(
        (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS)
    )
    up = rng.choice((Image.Resampling.BILINEAR, Image.Resampling.BICUBIC))
    back = (factor, 0.0, dx * factor, 0.0, factor, dy * factor)
    return padded.resize(small, down, box).transform(image.size, Image.Transform.AFFINE, back, up)


# --- light
def _shade(image: Image.Image, light: np.ndarray) -> Image.Image:
    """Multiply by a brightness field [H, W] of float32."""
    shaded = np.asarray(image) * light[..., None]
    return Image.fromarray(np.clip(shaded, 0, 255).astype(np.uint8))


def _grid(image: Image.Image) -> tuple[np.ndarray, np.ndarray]:
    """Horizontal [1, W] and vertical [H, 1] places in shares of the page's sides."""
    w, h = image.size
    x, y = (np.linspace(0, 1, side, dtype=np.float32) for side in (w, h))
    return x[None, :], y[:, None]


def _shadow(image: Image.Image, level: float, rng: random.Random) -> Image.Image:
    """One side darker than the other, or a soft dark spot; at the least 55% of the light stays."""
    x, y = _grid(image)
    if rng.random() < 0.5:
        angle = rng.uniform(0, 2 * math.pi)
        dark = (x - 0.5) * math.cos(angle) + (y - 0.5) * math.sin(angle)
        dark = (dark - dark.min()) / (dark.max() - dark.min())
    else:
        cx, cy = rng.random(), rng.random()
        width, height = rng.uniform(0.15, 0.5), rng.uniform(0.15, 0.5)
        dark = np.exp(-(((x - cx) / width) ** 2) - ((y - cy) / height) ** 2)
    return _shade(image, 1 - (0.05 + 0.4 * level) * dark)


def _fold(image: Image.Image, level: float, rng: random.Random) -> Image.Image:
    """One or two creases: a thin line, and paper that falls away darker on one side of it."""
    x, y = _grid(image)
    light = np.ones((image.height, image.width), np.float32)
    for _ in range(rng.choice((1, 2))):
        along, across, side = (x, y, image.height) if rng.random() < 0.5 else (y, x, image.width)
        off = across - rng.uniform(0.15, 0.85) - rng.uniform(-0.03, 0.03) * (along - 0.5)
        slope = np.exp(-np.abs(off) / rng.uniform(0.05, 0.2)) * (off * rng.choice((-1, 1)) > 0)
        line = np.exp(-((off * side / rng.uniform(0.6, 1.2)) ** 2))
        light *= 1 - (0.04 + 0.26 * level) * slope
        light *= 1 + (0.05 + 0.25 * level) * rng.choice((-1, 1)) * line
    return _shade(image, light)


# --- behind the page
def _lid(image: Image.Image, rng: random.Random) -> Image.Image:
    """What a scanner sees beside a crooked page: more of its paper, or the lid."""
    grey = rng.choice((rng.randint(15, 70), rng.randint(225, 255)))
    colour = rng.choice((_paper_colour(image), (grey, grey, grey)))
    return Image.new("RGB", image.size, colour)


def _desk(size: tuple[int, int], rng: random.Random) -> Image.Image:
    """A desk, plain or with a grain."""
    colour = rng.choice(DESKS)
    if rng.random() < 0.5:
        return Image.new("RGB", size, colour)
    draw = np.random.default_rng(rng.getrandbits(64))
    grain = draw.normal(
        0, rng.uniform(4, 14), (size[1] // rng.randint(1, 4) + 1, size[0] // 40 + 1)
    )
    tones = np.clip(grain[..., None] + colour, 0, 255).astype(np.uint8)
    return Image.fromarray(tones).resize(size, Image.Resampling.BILINEAR)


# --- sensor and file
def _noise(image: Image.Image, level: float, rng: random.Random) -> Image.Image:
    """Gaussian noise of 3 to 22 grey levels, the same in all channels or in each its own.

    Pale or blurred ink gets less of it, in proportion, or it would drown.
    """
    draw = np.random.default_rng(rng.getrandbits(64))
    shape = image.height, image.width, rng.choice((1, 3))
    sigma = (3 + 19 * level) * min(1.0, _ink_contrast(image) / FULL_NOISE)
    noise = draw.standard_normal(shape, np.float32) * np.float32(sigma)
    return Image.fromarray(np.clip(np.asarray(image) + noise + 0.5, 0, 255).astype(np.uint8))


def _jpeg(image: Image.Image, level: float) -> Image.Image:
    """Through a JPEG file of quality 85 down to 25."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=round(85 - 60 * level))
    return Image.open(file).convert("RGB")
