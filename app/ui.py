"""The page: layout and wiring. Nothing is computed here but what an event hands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from app import templates
from app.components.plotly_view import plotly_view
from app.components.region import region
from app.examples import GENERAL_QUESTIONS, Example, load_examples
from app.handlers import (
    chips,
    on_open,
    on_pages,
    on_pick,
    on_upload,
    replay_of,
    rounds_of,
    thumbnails,
    tree_of,
)
from app.held import Held
from app.preview import document_value
from app.session import MAX_WAITING, TARGET, Frame, Session, replayed, state
from app.static_files import PLOTLY_JS, STATIC
from app.theme import css_variables
from glance.config import AUTO
from glance.limits import limits_of

MODES = [("Both", "both"), ("GLANCE", "glance"), ("Token by token (AR)", "ar")]
STOPPED = "Stopped. What was decoded until then stays."
FONTS = ("ui-sans-serif", "system-ui", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Menlo", "DejaVu Sans Mono", "monospace")
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


@dataclass(frozen=True, slots=True)
class _Ask:
    """The left column: the page, the question, the settings."""

    page: gr.HTML
    pages: gr.HTML
    examples: gr.HTML
    file: gr.File
    question: gr.Textbox
    suggestions: gr.HTML
    mode: gr.Radio
    run: gr.Button
    stop: gr.Button
    message: gr.HTML
    budget: gr.Slider
    auto: gr.Checkbox
    limit: gr.Slider


@dataclass(frozen=True, slots=True)
class _Views:
    """What a run draws."""

    summary: gr.HTML
    tree: gr.HTML
    prefix: gr.HTML
    entropy: gr.HTML
    opened: gr.UploadButton


def build(session: Session, examples: tuple[Example, ...] | None = None) -> gr.Blocks:
    """The page over a session; examples are the shipped ones unless given."""
    examples = load_examples() if examples is None else examples
    gr.set_static_paths([STATIC, PLOTLY_JS.parent])
    first = examples[0] if examples else None
    file = Held.first_page(first.image, first.image.name) if first else None
    text = first.recorded() if first else ""
    start = replayed(text, "recorded") if text else Frame(state("idle", ""))

    with gr.Blocks(title="GLANCE", analytics_enabled=False, delete_cache=(3600, 3600)) as demo:
        held = gr.State(file)
        status = region("status", templates.STATUS, session.status())
        channel = region("channel", value=start.trace or "", elem_classes=["g-away"])
        with gr.Row(elem_classes=["g-top"]):
            with gr.Column(scale=4, min_width=300, elem_classes=["g-card", "g-ask"]):
                ask = _ask_column(first, examples, file, start)
            with gr.Column(scale=7, min_width=300, elem_classes=["g-right"]):
                with gr.Column(elem_classes=["g-card", "g-results"]):
                    region("race", templates.RACE)
                    summary = region("summary", templates.SUMMARY, start.summary)
                with gr.Column(elem_classes=["g-card", "g-results"]):
                    region("answers", templates.ANSWERS)
        views = _round_views(start, summary)
        frame = [ask.message, channel, views.tree, views.prefix, views.entropy, views.summary]
        _wire(session, examples, held, ask, views, frame)
        _forget_at_the_end(demo, held)

        clock = gr.Timer(1.0)
        clock.tick(
            lambda: (session.status(), gr.Timer(active=not session.settled)),
            None,
            [status, clock],
            queue=False,
            **QUIET,
        )
    return demo.queue(max_size=64)


def _ask_column(
    first: Example | None,
    examples: tuple[Example, ...],
    held: Held | None,
    start: Frame,
) -> _Ask:
    shown = document_value(*held.documents) if held else "null"
    page = region("document", templates.DOCUMENT, shown)
    pages = region("pages", templates.PAGES)
    chosen = region(
        "choices",
        value=thumbnails(examples, first),
        root='role="group" aria-label="Examples"',
        elem_id="g-examples",
    )
    file = gr.File(label="Your own page: drop, choose or paste it", height=58, elem_id="g-file")
    region("intake", templates.INTAKE)
    question = gr.Textbox(
        first.question if first else "",
        label="Question",
        info=limits_of(TARGET).remark,
        placeholder="What do you want to know about the page?",
        lines=2,
        max_lines=6,
        elem_id="g-question",
    )
    region("counter")
    suggestions = region(
        "choices",
        value=chips(first.suggestions if first else GENERAL_QUESTIONS),
        root='role="group" aria-label="Suggested questions"',
        elem_id="g-suggestions",
    )
    with gr.Row(elem_classes=["g-go"]):
        run = gr.Button("Run", variant="primary", elem_id="g-run")
        stop = gr.Button("Stop", elem_id="g-stop")
    message = region("state", value=start.state, root='role="status" aria-live="polite"')
    mode = gr.Radio(MODES, value="both", label="Decode", elem_id="g-mode")
    with gr.Accordion("Settings", open=False, elem_id="g-settings"):
        budget = gr.Slider(1, 63, 15, step=1, label="Node budget: most candidates of a round")
        auto = gr.Checkbox(
            False,
            label="Auto: every round takes the node budget that pays most on this machine",
            elem_id="g-auto",
        )
        limit = gr.Slider(8, 512, 256, step=8, label="Max tokens of the answer")
    return _Ask(
        page,
        pages,
        chosen,
        file,
        question,
        suggestions,
        mode,
        run,
        stop,
        message,
        budget,
        auto,
        limit,
    )


def _round_views(start: Frame, summary: gr.HTML) -> _Views:
    with gr.Column(elem_classes=["g-card", "g-results", "g-rounds"]):
        region("scrubber", templates.SCRUBBER)
        tree = plotly_view("tree", start.tree, [tree_of])
        with gr.Row(elem_classes=["g-pair"]):
            prefix = plotly_view("prefix", start.prefix)
            entropy = plotly_view("entropy", start.entropy)
    with gr.Row(elem_classes=["g-foot"]):
        region("export", templates.EXPORT, server_functions=[replay_of, rounds_of])
        region("link", templates.LINK)
        opened = gr.UploadButton("Open trace", file_types=[".jsonl"], elem_id="g-open", size="sm")
    return _Views(summary, tree, prefix, entropy, opened)


def _wire(
    session: Session,
    examples: tuple[Example, ...],
    held: gr.State,
    ask: _Ask,
    views: _Views,
    frame: list[gr.HTML],
) -> None:
    def run(
        file: Held | None, question: str, mode: str, budget: int, auto: bool, limit: int
    ) -> Iterator[Sequence[Any]]:
        shown: Sequence[Any] = (gr.skip(),) * len(frame)
        pages = file.documents if file else ()
        for each in session.run(pages, question, mode, AUTO if auto else int(budget), limit):
            # An unchanged value costs next to nothing, a skip makes its component anew.
            shown = [
                old if new is None else new for old, new in zip(shown, each.parts, strict=True)
            ]
            yield shown

    def pick(event: gr.EventData) -> Sequence[Any]:
        example = examples[event.index]
        file, shown, typed, offered, each = on_pick(example)
        return (
            file,
            shown,
            None,
            typed,
            offered,
            thumbnails(examples, example),
            *updates(each),
        )

    def upload(path: str | None) -> Sequence[Any]:
        with _deleted(path):
            return (*on_upload(path), thumbnails(examples, None), None)

    def turn(file: Held | None, event: gr.EventData) -> Sequence[Any]:
        file, shown, told = on_pages(file, event.value)
        return file, gr.skip() if shown is None else shown, told

    def suggest(event: gr.EventData) -> str:
        return event.value

    def open_trace(path: str) -> Sequence[Any]:
        with _deleted(path):
            picture, each = on_open(path)
        if picture is None:
            return (*(gr.skip(),) * 4, *updates(each))
        # a copy of the page, to look at: a run needs the page itself
        return (None, picture, None, thumbnails(examples, None), *updates(each))

    running = ask.run.click(
        run,
        [held, ask.question, ask.mode, ask.budget, ask.auto, ask.limit],
        frame,
        concurrency_id="target",
        trigger_mode="multiple",  # player.js lets one press through at a time
        concurrency_limit=MAX_WAITING + 2,  # those waiting are told so; one at a time decodes
        **QUIET,
    )
    ask.auto.input(
        lambda auto: gr.Slider(interactive=not auto), ask.auto, ask.budget, queue=False, **QUIET
    )
    ask.stop.click(
        lambda: state("stopped", STOPPED),
        None,
        ask.message,
        cancels=[running],
        queue=False,
        **QUIET,
    )
    ask.examples.select(
        pick,
        None,
        [held, ask.page, ask.file, ask.question, ask.suggestions, ask.examples, *frame],
        cancels=[running],
        **QUIET,
    )
    ask.suggestions.select(suggest, None, ask.question, **QUIET)
    ask.file.upload(
        upload,
        ask.file,
        [held, ask.page, ask.suggestions, ask.message, ask.examples, ask.file],
        cancels=[running],
        **QUIET,
    )
    ask.pages.select(
        turn,
        held,
        [held, ask.page, ask.message],
        cancels=[running],
        trigger_mode="always_last",
        **QUIET,
    )
    views.opened.upload(
        open_trace,
        views.opened,
        [held, ask.page, ask.file, ask.examples, *frame],
        cancels=[running],
        **QUIET,
    )


@contextmanager
def _deleted(path: str | None) -> Iterator[None]:
    """An uploaded file, gone from the server's disk at the end."""
    try:
        yield
    finally:
        if path:
            Path(path).unlink(missing_ok=True)


def _forget_at_the_end(demo: gr.Blocks, held: gr.State) -> None:
    """Let go of a visitor's file when the tab is closed; Gradio would keep it for an hour."""

    def forget(request: gr.Request) -> None:
        if request.session_hash in demo.state_holder:
            # not deleted, as a tab that only lost its connection would get the first example
            demo.state_holder[request.session_hash][held._id] = None

    demo.unload(forget)


def updates(frame: Frame) -> Sequence[Any]:
    """A frame as the outputs of an event; what it leaves alone is skipped."""
    return tuple(gr.skip() if part is None else part for part in frame.parts)


def launch_options() -> dict[str, Any]:
    """What `launch` needs: looks, and nothing recorded, monitored or shown of errors."""
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    return {
        "theme": _theme(),
        "css": css_variables() + style,
        "run_history": False,
        "ssr_mode": False,
        "show_error": False,
        "enable_monitoring": False,
        "pwa": False,
        "footer_links": [],
        "max_file_size": "100mb",
    }


def _theme() -> gr.themes.Base:
    return gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.slate,
        font=FONTS,
        font_mono=MONO,
    ).set(
        body_background_fill="var(--g-page)",
        body_background_fill_dark="var(--g-page)",
        body_text_color="var(--g-ink)",
        body_text_color_dark="var(--g-ink)",
        body_text_color_subdued="var(--g-muted)",
        body_text_color_subdued_dark="var(--g-muted)",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_shadow="none",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_label_text_color="var(--g-muted)",
        block_label_text_color_dark="var(--g-muted)",
        block_title_text_color="var(--g-ink)",
        block_title_text_color_dark="var(--g-ink)",
        block_info_text_color="var(--g-muted)",
        block_info_text_color_dark="var(--g-muted)",
        block_padding="0px",
        border_color_primary="var(--g-line)",
        border_color_primary_dark="var(--g-line)",
        background_fill_primary="var(--g-card)",
        background_fill_primary_dark="var(--g-card)",
        background_fill_secondary="var(--g-sunken)",
        background_fill_secondary_dark="var(--g-sunken)",
        color_accent="var(--g-accent)",
        input_background_fill="var(--g-card)",
        input_background_fill_dark="var(--g-card)",
        input_border_color="var(--g-line)",
        input_border_color_dark="var(--g-line)",
        input_border_width="1px",
        input_placeholder_color="var(--g-muted)",
        input_placeholder_color_dark="var(--g-muted)",
        button_primary_background_fill="var(--g-accent)",
        button_primary_background_fill_dark="var(--g-accent)",
        button_primary_background_fill_hover="var(--g-accent)",
        button_primary_background_fill_hover_dark="var(--g-accent)",
        button_primary_text_color="var(--g-on-accent)",
        button_primary_text_color_dark="var(--g-on-accent)",
        button_secondary_background_fill="var(--g-sunken)",
        button_secondary_background_fill_dark="var(--g-sunken)",
        button_secondary_text_color="var(--g-ink)",
        button_secondary_text_color_dark="var(--g-ink)",
        slider_color="var(--g-accent)",
        slider_color_dark="var(--g-accent)",
    )
