"""Where on a page the words of a question stand. Pure.

"The price of Grey bowl" is answered beside "Grey bowl". A head that is told where words of the
question stand learns to look there long before the answers alone would teach it.
"""

import re
from collections.abc import Sequence

Cell = tuple[int, int]  # row, column; (-1, -1) for none
NO_CELL = (-1, -1)
SHORTEST = 4  # characters of a quotation; shorter ones must be names or figures
UNSURE = 2  # first characters of a quotation, which might still become another one


def quoted(question: str, lines: Sequence[tuple[str, Sequence[Cell]]]) -> list[Cell]:
    """The cell of each character of a question that quotes the page, NO_CELL for the others.

    A quotation is a run of whole words, as long as possible, that the page's lines (text, and the
    cell of each character) have once, in whatever case.
    """
    cells = [NO_CELL] * len(question)
    words = [m.span() for m in re.finditer(r"\S*[^\s?.,]", question)]
    texts = [text.casefold() for text, _ in lines]
    for count in range(len(words), 0, -1):
        for first in range(len(words) - count + 1):
            begin, end = words[first][0], words[first + count - 1][1]
            text = question[begin:end]
            named = text != text.lower() or any(c.isdigit() for c in text)
            free = all(cell == NO_CELL for cell in cells[begin:end])
            if not free or (len(text) < SHORTEST and not named):
                continue
            whole = re.compile(rf"(?<!\w){re.escape(text.casefold())}(?!\w)")
            found = [(n, m.start()) for n, t in enumerate(texts) for m in whole.finditer(t)]
            if len(found) == 1:
                line, at = found[0]
                sure = slice(begin + UNSURE, end)
                cells[sure] = lines[line][1][at + UNSURE : at + end - begin]
    return cells
