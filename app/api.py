"""What programs may call: /ask and /ask_stream, and over MCP the tool ask_document.

Gradio's components only describe the inputs and see to it that a file is an uploaded one. What the
inputs hold is checked here, so that what is wrong with them is said in words.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import gradio as gr

from app.choices import options
from app.session import DRAFTERS, FULL, LANES, MAX_RUNS, NO_DOCUMENT, Session, Update
from app.settings import DEFAULTS, MAX_TOKENS, NO_LANE, Settings, SettingsError, chosen
from app.troubles import MEMORY
from app.zerogpu import on_zerogpu
from glance.cli.run import summary
from glance.config import MOST_NODES
from glance.documents.intake import Document, DocumentError, load_document
from glance.replay import lanes
from glance.trace import Line

PATIENCE = 5.0  # s for the pages of other callers to be read
#: the names of the events that are public
ENDPOINTS = ("ask", "ask_stream")

NO_MCP = (
    "The tool ask_document is not offered over MCP: that takes pip install 'gradio[mcp]'. "
    "/ask and /ask_stream are there without it."
)

log = logging.getLogger(__name__)


def add_api(session: Session) -> None:
    """The two events over a session, within the page's Blocks; nobody sees their inputs."""
    reading = Lock()  # a page may take some hundred megabytes while it is read: one at a time

    @contextmanager
    def turn() -> Iterator[None]:
        # whoever waits here holds one of the places of those who wait for the model
        if not reading.acquire(timeout=PATIENCE):
            raise DocumentError(FULL.text)
        try:
            yield
        finally:
            reading.release()

    def updates(
        document: Any, page: Any, question: Any, drafter: Any, compare: Any, nodes: Any, most: Any
    ) -> Generator[Update, None, None]:
        try:
            with turn():
                documents = [_document(document, page)]
            settings = _settings(drafter, compare, nodes, most)
            if not isinstance(question, str):
                raise SettingsError("The question must be text.")
        except (DocumentError, SettingsError) as error:
            raise _refusal(str(error)) from None
        except MemoryError:
            raise _refusal(MEMORY.text) from None
        with closing(session.run(documents, question, settings, source="api")) as running:
            for update in running:
                yield update
                if update.phase == "error":
                    raise _refusal(update.text)

    # The names and the words below are what the API's description and the MCP tool show.
    def ask_document(
        document: Any,
        question: Any,
        page: Any,
        drafter: Any,
        compare: Any,
        node_budget: Any,
        max_tokens: Any,
    ) -> Iterator[dict[str, Any] | None]:
        """Answer a question about a document image by speculative decoding, and check the answer.

        Args:
            document: an image (PNG, JPEG, WebP, TIFF, HEIC) or a PDF.
            question: what to find out about the page, at most 2,000 characters.
            page: which page of a PDF or a TIFF, counted from 1.
            drafter: who proposes tokens; "ar" is decoding token by token.
            compare: decode token by token as well, and compare both answers id by id.
            node_budget: the most candidate nodes of a round, 1 to 63.
            max_tokens: the most tokens of the answer, 1 to 512.
        """
        lines: list[Line] = []
        found = updates(document, page, question, drafter, compare, node_budget, max_tokens)
        with closing(found):
            for each in found:
                lines += each.lines
                yield None  # only between two yields is it heard that the caller has left
        yield answered(lines)

    def ask_stream(
        document: Any,
        question: Any,
        page: Any,
        drafter: Any,
        compare: Any,
        node_budget: Any,
        max_tokens: Any,
    ) -> Iterator[dict[str, Any]]:
        """The same as /ask, told while it happens, some ten times a second.

        Every update has run, phase (waiting, running or done), text, and lines: the lines of the
        run's trace that are new. All lines of all updates are the trace. Cancelling stops the run.
        """
        found = updates(document, page, question, drafter, compare, node_budget, max_tokens)
        with closing(found):
            for each in found:
                about = {"run": each.run, "phase": each.phase, "text": each.text}
                yield {**about, "lines": list(each.lines)}

    # not offered as a tool: to a model the stream of a trace is of no use
    ask_stream._mcp_type = "none"  # type: ignore[attr-defined]

    with gr.Column(visible=False):
        inputs = [
            gr.File(label="An image or a PDF"),
            gr.Textbox(label="What to find out about the page, at most 2,000 characters"),
            gr.Number(1, precision=0, label="Page of a PDF or a TIFF, counted from 1"),
            gr.Radio(options(DRAFTERS), value=LANES[0], label="Who proposes tokens"),
            # as on the page: there the second lane costs a visitor's daily GPU time too
            gr.Checkbox(not on_zerogpu(), label="Decode token by token as well, and compare"),
            gr.Number(DEFAULTS.node_budget, precision=0, label=f"1 to {MOST_NODES}"),
            gr.Number(DEFAULTS.max_new_tokens, precision=0, label=f"1 to {MAX_TOKENS}"),
        ]
        answer = gr.JSON(label="Result")
        update = gr.JSON(label="Update")
        events = ((ask_document, answer), (ask_stream, update))
        for name, (function, output) in zip(ENDPOINTS, events, strict=True):
            gr.Button().click(
                function,
                inputs,
                output,
                api_name=name,
                api_visibility="public",
                preprocess=False,
                concurrency_id="target",
                concurrency_limit=MAX_RUNS,
            )


def answered(lines: Sequence[Line]) -> dict[str, Any]:
    """A whole trace as the one value that /ask gives.

    Returns:
        What `python -m glance ask --json` writes, and "run"; "ids": {lane: token ids}; "rounds":
        {lane that drafts: [{"tree", "verdict", "ids"}]}, trees and verdicts as in the trace.
    """
    found = lanes(lines)
    rounds = {
        name: [
            {
                "tree": each.lines["build"]["tree"],
                "verdict": each.lines["accept"]["verdict"],
                "ids": [token["id"] for token in each.commit["tokens"]],
            }
            for each in lane.rounds
            if "build" in each.lines
        ]
        for name, lane in found.items()
    }
    return {
        **summary(list(lines)),
        "run": lines[0]["run"],
        "ids": {name: lane.ids for name, lane in found.items()},
        "rounds": {name: some for name, some in rounds.items() if some},
    }


def mcp_offered() -> bool:
    """Whether the tool can be offered; where not, the log says what is missing."""
    offered = find_spec("mcp") is not None
    if not offered:
        log.info(NO_MCP)
    return offered


def _document(uploaded: Any, page: Any) -> Document:
    if not isinstance(uploaded, dict) or not uploaded.get("path"):
        raise DocumentError(NO_DOCUMENT)
    # an upload, or a file that the page serves anyway: Gradio refuses any other path
    path = Path(uploaded["path"])
    name = uploaded.get("orig_name") or path.name
    return load_document(path, _number("page", page), name)


def _settings(drafter: Any, compare: Any, node_budget: Any, max_tokens: Any) -> Settings:
    if drafter not in DRAFTERS:
        raise SettingsError(f"The drafter must be one of: {', '.join(DRAFTERS)}.")
    return chosen(
        drafter,
        LANES[1] if compare else NO_LANE,
        _number("node budget", node_budget),
        False,
        _number("number of tokens", max_tokens),
        DEFAULTS.temperature,
        DEFAULTS.seed,
    )


def _number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(f"The {name} must be a number.")
    if not float(value).is_integer():
        raise SettingsError(f"The {name} must be a whole number.")
    return int(value)


def _refusal(words: str) -> gr.Error:
    return gr.Error(words, print_exception=False)
