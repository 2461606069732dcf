"""Plane maps of a page: turn it as a crooked scan, or see it at an angle as a phone does.

Coordinates are pixels with whole numbers at pixel edges, as glyph boxes have them.
"""

import math
import random

import numpy as np
from PIL import Image

Box = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float]
Row = tuple[float, float, float]
Matrix = tuple[Row, Row, Row]  # 3 x 3 homography, old pixel coordinates to new ones

IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
EDGE = 1.0  # px that stay free between moved content and the image's edge


def move_box(box: Box, matrix: Matrix) -> Box:
    """The axis-aligned hull of a moved box."""
    x0, y0, x1, y1 = box
    corners = np.array([(x0, x1, x1, x0), (y0, y0, y1, y1), (1, 1, 1, 1)])
    x, y, w = np.array(matrix) @ corners
    x, y = x / w, y / w
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def turn(size: tuple[int, int], degrees: float, content: Box) -> Matrix:
    """Rotate a page of `size` about its middle, clockwise.

    Where `content` would leave the image the page is moved and, if that is not enough, scaled
    down until it stays inside. What is outside `content` may be cut off.
    """
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    hull = move_box(content, ((cos, -sin, 0), (sin, cos, 0), (0, 0, 1)))
    span = hull[2] - hull[0], hull[3] - hull[1]
    scale = min(1.0, *((s - 2 * EDGE) / h for s, h in zip(size, span, strict=True)))
    cx, cy = size[0] / 2, size[1] / 2
    middle = cos * cx - sin * cy, sin * cx + cos * cy
    shift = []
    for axis in (0, 1):
        wished = size[axis] / 2 - scale * middle[axis]
        least = EDGE - scale * hull[axis]
        most = size[axis] - EDGE - scale * hull[axis + 2]
        shift.append(min(max(wished, least), max(most, least)))
    c, s = scale * cos, scale * sin
    return (c, -s, shift[0]), (s, c, shift[1]), (0.0, 0.0, 1.0)


def tilt(size: tuple[int, int], inward: float, rng: random.Random) -> Matrix:
    """Move each corner of a page inward by up to the share `inward` of its sides."""
    w, h = size
    corners = [(0.0, 0.0), (float(w), 0.0), (float(w), float(h)), (0.0, float(h))]
    moved = []
    for x, y in corners:
        dx, dy = (inward * side * rng.uniform(0.1, 1.0) for side in size)
        moved.append((x - dx if x else dx, y - dy if y else dy))
    return _homography(corners, moved)


def warp(image: Image.Image, matrix: Matrix, behind: Image.Image) -> Image.Image:
    """Move an RGB image by a matrix; `behind`, of the same size, shows around it."""
    inverse = np.linalg.inv(np.array(matrix))
    data = (inverse / inverse[2, 2]).ravel()[:8].tolist()  # Pillow asks where a pixel comes from
    method = Image.Transform.PERSPECTIVE
    moved = image.transform(image.size, method, data, Image.Resampling.BICUBIC)
    mask = Image.new("L", image.size, 255)
    mask = mask.transform(image.size, method, data, Image.Resampling.BILINEAR)
    return Image.composite(moved, behind, mask)


def _homography(old: list[Point], new: list[Point]) -> Matrix:
    """The homography that maps four points to four others."""
    rows, right = [], []
    for (x, y), (u, v) in zip(old, new, strict=True):
        rows += [(x, y, 1, 0, 0, 0, -u * x, -u * y), (0, 0, 0, x, y, 1, -v * x, -v * y)]
        right += [u, v]
    a, b, c, d, e, f, g, h = np.linalg.solve(np.array(rows), np.array(right)).tolist()
    return (a, b, c), (d, e, f), (g, h, 1.0)
