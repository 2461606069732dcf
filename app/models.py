"""The public models that this program can decode, as constant HTML below the page. No torch."""

from __future__ import annotations

from html import escape

from glance.targets.catalog import TARGETS, Head, PublicTarget

COLUMNS = ("Model", "Type", "Weights in bfloat16", "Licence", "Public heads")

INTRO = """
<p>This page asks the small model that ships with the program. The command line takes these too,
from a folder or from the Hugging Face hub, and <code>train head</code> makes a head for any of
them: <code>python -m glance ask FILE QUESTION --target MODEL --head DRAFTER=HEAD</code>. Every type
is tested with random weights; none of the published ones has been run here yet.</p>
"""


def model_list() -> str:
    """A table of the catalogue, folded away."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    rows = "".join(map(_row, TARGETS))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<details><summary>Public models and heads</summary>{INTRO}"
        '<div class="g-twin" tabindex="0" role="group" aria-label="Public models and heads">'
        f"{table}</div></details>"
    )


def _row(target: PublicTarget) -> str:
    heads = "<br>".join(map(_head, target.heads)) or "none known"
    memory = f"{target.memory_gib:.2g} GiB"
    rest = "".join(f"<td>{cell}</td>" for cell in (memory, escape(target.licence), heads))
    model, kind = escape(target.hub_id), escape(target.family)
    return f'<tr><th scope="row">{model}</th><td>{kind}</td>{rest}</tr>'


def _head(head: Head) -> str:
    about = f"{head.note}; licence: {head.licence}"
    return f"{escape(head.drafter)}={escape(head.hub_id)} ({escape(about)})"
