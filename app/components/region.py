"""`region`: a `gr.HTML` whose template never changes and whose script draws into it.

Nothing that comes from a document may stand in a template: Gradio evaluates the filled-in template
as a JavaScript template literal, so even an escaped `{{value}}` runs a `${...}` in the text. The
value therefore reaches the page only through the script, which writes it with `textContent`.

Functions, not subclasses: for a subclass Gradio writes a stub file into the source tree at import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import gradio as gr

from app import static_files, templates


@cache
def head(*paths: Path) -> str:
    """Script tags, in order; Gradio loads each script once and waits for it."""
    # the stamp keeps a browser from mixing scripts of two versions
    return "".join(
        f'<script src="gradio_api/file={path}?v={int(path.stat().st_mtime)}"></script>'
        for path in paths
    )


def region(
    kind: str,
    template: str = "",
    value: str | None = None,
    *,
    root: str = "",
    elem_id: str | None = None,
    elem_classes: Sequence[str] = (),
    server_functions: list[Callable] | None = None,
    libraries: tuple[Path, ...] = (),
) -> gr.HTML:
    """One region of the page, drawn by the script registered under `kind`.

    Args:
        kind: name of the region's script.
        template: constant HTML inside the region's root element.
        value: text for the script (JSON, or the trace); None for a region that only listens.
        root: attributes of the root element.
        server_functions: functions that the script may call.
        libraries: scripts that this region needs beside the page's own.
    """
    return gr.HTML(
        value,
        html_template=templates.root(kind, template, root),
        js_on_load=f'GLANCE.mount("{kind}", element, props, trigger, server, watch);',
        head=head(*static_files.PAGE, *libraries),
        apply_default_css=False,
        elem_id=elem_id or f"g-{kind}",
        elem_classes=["g-region", *elem_classes],
        server_functions=server_functions,
    )
