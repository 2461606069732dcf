"""Pages of plain print at a known font size."""

from PIL import Image, ImageDraw

from glance.documents.faces import FACES, load_face

WORDS = "Invoice no. INV-20931 Total due 1,284.60 by 17 Elm Road 0161 496 0382 "
PAPER, INK = (250, 248, 240), (30, 30, 40)


def print_of(px: int, size: tuple[int, int] = (448, 420)) -> Image.Image:
    """Text of one font size all over a page."""
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    face = load_face(FACES[0], px)
    long = WORDS * (1 + int(size[0] / face.getlength(WORDS)))
    for row, y in enumerate(range(px, size[1] - 2 * px, round(1.4 * px))):
        draw.text((px, y), long[row % 9 :], INK, face)
    return image
