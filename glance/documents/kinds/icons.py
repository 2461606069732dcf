"""Small pictures for infographics, drawn with simple shapes inside a circle."""

from collections.abc import Callable

from glance.documents.canvas import Colour
from glance.documents.sheet import Sheet

Points = list[tuple[float, float]]  # in radii from the middle
Icon = tuple[str, Points]  # shape ("polygon", "ellipse", "line") and its points

ICONS: tuple[tuple[Icon, ...], ...] = (
    (  # person
        ("ellipse", [(-0.2, -0.6), (0.2, -0.15)]),
        ("polygon", [(-0.45, 0.55), (-0.35, -0.05), (0.35, -0.05), (0.45, 0.55)]),
    ),
    (  # house
        ("polygon", [(-0.6, 0.0), (0.0, -0.6), (0.6, 0.0)]),
        ("polygon", [(-0.4, 0.0), (0.4, 0.0), (0.4, 0.5), (-0.4, 0.5)]),
    ),
    (  # bars
        ("polygon", [(-0.5, 0.5), (-0.5, 0.1), (-0.2, 0.1), (-0.2, 0.5)]),
        ("polygon", [(-0.1, 0.5), (-0.1, -0.2), (0.2, -0.2), (0.2, 0.5)]),
        ("polygon", [(0.3, 0.5), (0.3, -0.5), (0.6, -0.5), (0.6, 0.5)]),
    ),
    (("polygon", [(0.2, -0.7), (-0.4, 0.1), (0.0, 0.1), (-0.2, 0.7), (0.4, -0.1), (0.0, -0.1)]),),
    (  # drop
        ("polygon", [(0.0, -0.7), (0.36, 0.05), (-0.36, 0.05)]),
        ("ellipse", [(-0.4, -0.2), (0.4, 0.6)]),
    ),
    (  # magnifying glass
        ("ellipse", [(-0.55, -0.55), (0.25, 0.25)]),
        ("line", [(0.1, 0.1), (0.55, 0.55)]),
    ),
    (("line", [(-0.5, 0.0), (-0.1, 0.4), (0.5, -0.4)]),),  # tick
    (  # arrow
        ("polygon", [(-0.5, 0.0), (0.0, -0.6), (0.5, 0.0)]),
        ("polygon", [(-0.2, 0.0), (0.2, 0.0), (0.2, 0.55), (-0.2, 0.55)]),
    ),
    (  # lorry
        ("polygon", [(-0.6, -0.3), (0.2, -0.3), (0.2, 0.3), (-0.6, 0.3)]),
        ("polygon", [(0.25, -0.1), (0.6, -0.1), (0.6, 0.3), (0.25, 0.3)]),
        ("ellipse", [(-0.45, 0.2), (-0.15, 0.5)]),
        ("ellipse", [(0.2, 0.2), (0.5, 0.5)]),
    ),
)


def icon(
    s: Sheet, picture: tuple[Icon, ...], middle: tuple[float, float], radius: float, fill: Colour
) -> None:
    """Draw a picture in paper colour on a disc of `fill`; lengths are px."""
    x, y = middle
    s.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
    shapes: dict[str, Callable[[Points], None]] = {
        "polygon": lambda p: s.draw.polygon(p, fill=s.paper),
        "ellipse": lambda p: s.draw.ellipse([p[0], p[1]], fill=s.paper),
        "line": lambda p: s.draw.line(p, fill=s.paper, width=max(2, round(radius * 0.2))),
    }
    for shape, points in picture:
        shapes[shape]([(x + a * radius, y + b * radius) for a, b in points])
