"""Captions: a sentence about how a page looks.

Each choice of words follows from something graded on the page (shade, size, amount, tilt), so a
page near a border is a truly uncertain case; nothing is drawn by lot.
"""

import math

import numpy as np
from PIL import Image

SMALL, LARGE = 13.5, 18.5  # px
FEW, MANY = 6, 12  # lines
WHITE, DARK = 225, 140  # grey levels of the page's median pixel
TILT = 0.7  # degrees


def tilt_of(matrix: np.ndarray) -> float:
    """Degrees by which a homography turns the page's lines, clockwise positive."""
    return math.degrees(math.atan2(matrix[1][0], matrix[0][0]))


def caption(kind: str, size: float, lines: int, tilt: float, image: Image.Image) -> str:
    """For example "A receipt in small print with many lines on white paper, tilted left." """
    shade = float(np.median(np.asarray(image.convert("L"))))
    print_ = "small" if size < SMALL else "large" if size > LARGE else "medium"
    amount = "a few" if lines < FEW else "many" if lines > MANY else "several"
    paper = "white" if shade >= WHITE else "dark" if shade < DARK else "tinted"
    turned = "" if abs(tilt) < TILT else ", tilted left" if tilt < 0 else ", tilted right"
    article = "An" if kind[0] in "aeiou" else "A"
    return f"{article} {kind} in {print_} print with {amount} lines on {paper} paper{turned}."
