"""What the HTML layouts share: faces, sizes, colours, and small pieces of markup."""

from html import escape

from tests.foreign.record import Paper

FACES = (
    "Lato",
    "Inter",
    "EB Garamond",
    "JetBrains Mono",
    "Quicksand",
    "Nimbus Sans",
    "Nimbus Roman",
    "C059",
    "P052",
    "URW Bookman",
    "URW Gothic",
    "Cabin",
    "Courier Prime Code",
    "Noto Sans",
    "Noto Serif",
)
SMALL = (
    "EB Garamond",
    "Nimbus Roman",
    "Courier Prime Code",
)  # faces that look smaller than they are
SIZES = ((392, 504), (364, 504), (448, 448), (336, 560), (420, 448), (504, 392))
ACCENTS = ("#1d4e89", "#8c2f39", "#2d6a4f", "#5b3a8c", "#9a5b13", "#333333", "#00666b", "#b0305c")
PAPERS = ("#ffffff", "#ffffff", "#ffffff", "#fffdf5", "#f6f8fb", "#f4f4f0", "#fdf6f0")


class Sheet(Paper):
    """One HTML page: a face, a size, colours and an extent in px."""

    sizes = SIZES
    whole = False  # whether the page keeps its height when the text ends sooner

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        r = self.rng
        self.face = r.choice(FACES)
        self.px = r.randint(15, 17) if self.face in SMALL else r.randint(12, 16)
        self.extent = r.choice(self.sizes)
        self.accent = r.choice(ACCENTS)
        self.paper = r.choice(PAPERS)
        self.heading = min(22, self.px + r.randint(2, 6))
        self.css: list[str] = []

    def style(self, css: str) -> None:
        """Add rules for this page; `@` stands for the accent colour."""
        self.css.append(css.replace("@", self.accent))

    def document(self, body: str) -> str:
        r = self.rng
        lead, pad = r.uniform(1.25, 1.6), r.randint(10, 22)
        base = (
            f"body {{ margin: 0; padding: {pad}px; font: {self.px}px/{lead:.2f} '{self.face}';"
            f" background: {self.paper}; color: #{r.choice(('111', '222', '2b2b33', '000'))};"
            " box-sizing: border-box; }"
            f"h1 {{ font-size: {self.heading}px; line-height: 1.25; margin: 0 0 .3em; }}"
            "p { margin: 0 0 .5em; } table { border-collapse: collapse; width: 100%; }"
            "td, th { padding: 2px 4px; text-align: left; white-space: nowrap; }"
            ".r { text-align: right; } .c { text-align: center; } .accent { color: @; }"
            ".sides { display: flex; justify-content: space-between; gap: 14px; }"
            ".sides > * { white-space: nowrap; }"
        ).replace("@", self.accent)
        return (
            "<!doctype html><html><head><meta charset='utf-8'><style>"
            f"{base}{''.join(self.css)}</style></head><body>{body}</body></html>"
        )


def e(text: str) -> str:
    return escape(text)


def sides(left: str, right: str, tag: str = "div") -> str:
    """Two texts at both ends of a line."""
    return f"<{tag} class=sides><span>{e(left)}</span><span>{e(right)}</span></{tag}>"


def table(head: list[str], rows: list[list[str]], right: set[int]) -> str:
    """A table; the columns numbered in `right` are flush right. No head, no head row."""

    def cells(tag: str, row: list[str]) -> str:
        made = (
            f"<{tag}{' class=r' if i in right else ''}>{e(c)}</{tag}>" for i, c in enumerate(row)
        )
        return f"<tr>{''.join(made)}</tr>"

    top = f"<thead>{cells('th', head)}</thead>" if head else ""
    return f"<table>{top}<tbody>{''.join(cells('td', row) for row in rows)}</tbody></table>"
