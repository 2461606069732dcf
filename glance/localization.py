"""The localization head: the attention head whose best image patch is where a token stands.

A few heads of a vision-language model find what its text is about (Kang et al., "Your Large
Vision-Language Model Only Needs A Few Attention Heads For Visual Grounding", arXiv 2503.06287).
Which one to ask is chosen for one set of weights, whose revision the file beside them names. No
torch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

FILE = "grounding.json"


class LocalizationError(ValueError):
    """There is no localization head to ask; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class LocalizationHead:
    """One head of a text layer, and which row of a pass stands for a token."""

    layer: int
    head: int
    own: bool  # the row whose input is the token; otherwise the row before, which predicts it

    def rows(self, values: Tensor) -> Tensor:
        """A row a token, [T, ...], of the T + 1 rows of a teacher-forced pass."""
        return values[1:] if self.own else values[:-1]

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a file or a trace."""
        row = "own" if self.own else "predicting"
        return {"layer": self.layer, "head": self.head, "row": row}


@dataclass(frozen=True, slots=True)
class Choice:
    """The head that hit the most tokens of training pages."""

    head: LocalizationHead
    hits: int  # tokens whose glyph it looked at
    tokens: int
    pages: int


def save(choice: Choice, folder: Path, revision: str) -> Path:
    """Write `grounding.json` beside weights of this revision; gives its path."""
    counts = {"pages": choice.pages, "tokens": choice.tokens, "hits": choice.hits}
    path = folder / FILE
    text = json.dumps({"revision": revision, **choice.head.to_json(), **counts}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load(folder: Path, revision: str) -> LocalizationHead | None:
    """The head chosen for weights of this revision; None where the folder has no such file.

    Raises:
        LocalizationError: the file is damaged, or is about other weights.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        chosen = json.loads(path.read_text(encoding="utf-8"))
        chosen_for = chosen["revision"]
        own = {"own": True, "predicting": False}[chosen["row"]]
        head = LocalizationHead(int(chosen["layer"]), int(chosen["head"]), own)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LocalizationError(f"{path} is damaged, so tokens have no places.") from error
    if chosen_for != revision:
        raise LocalizationError(
            f"{path} is about weights {chosen_for}, but these are {revision}: tokens have no "
            "places until a head is chosen again."
        )
    return head
