"""The page: layout and wiring. Nothing is computed here but what an event hands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app import templates
from app.api import add_api
from app.choices import cards
from app.components.plotly_view import plotly_view
from app.components.region import region
from app.controls import Controls, controls, first_lanes
from app.cost import hint
from app.examples import GENERAL_QUESTIONS, Example, load_examples
from app.frames import Frame, replayed, state
from app.handlers import (
    chips,
    lane_of,
    on_open,
    on_pages,
    on_pick,
    on_run,
    on_stop,
    on_talk,
    on_upload,
    replay_of,
    rounds_of,
    study_of,
    talk_value,
    thumbnails,
    tree_of,
)
from app.held import Held
from app.models import model_list
from app.preview import document_value
from app.session import MAX_RUNS, TARGET, Session
from app.settings import DEFAULTS
from app.static_files import PLOTLY_JS, STATIC
from app.theme import css_variables
from app.uploads import uploaded
from glance.limits import limits_of

FONTS = ("ui-sans-serif", "system-ui", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Menlo", "DejaVu Sans Mono", "monospace")
#: events of all visitors that wait for their turn; further ones are refused in words
MAX_QUEUED = 64
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
    run: gr.Button
    stop: gr.Button
    cost: gr.HTML
    message: gr.HTML
    talk: gr.HTML
    controls: Controls


@dataclass(frozen=True, slots=True)
class _Views:
    """What a run draws."""

    summary: gr.HTML
    tree: gr.HTML
    prefix: gr.HTML
    entropy: gr.HTML
    tabs: gr.HTML
    opened: gr.UploadButton


def build(session: Session, examples: tuple[Example, ...] | None = None) -> gr.Blocks:
    """The page over a session; examples are the shipped ones unless given."""
    examples = load_examples() if examples is None else examples
    gr.set_static_paths([STATIC, PLOTLY_JS.parent])
    first = examples[0] if examples else None
    file = Held.first_page(first.image, first.image.name) if first else None
    text = first.recorded() if first else ""
    start = replayed(text, "recorded") if text else Frame(state("idle", ""))

    with gr.Blocks(title="GLANCE", analytics_enabled=False, delete_cache=(30, 120)) as demo:
        held = gr.State(file)
        status = region("status", templates.STATUS, session.status())
        channel = region("channel", value=start.trace or "", elem_classes=["g-away"])
        with gr.Row(elem_classes=["g-top"]):
            with gr.Column(scale=4, min_width=300, elem_classes=["g-card", "g-ask"]):
                cost = hint(session.host, file, *first_lanes(), DEFAULTS.max_new_tokens)
                ask = _ask_column(first, examples, file, start, cost)
            with gr.Column(scale=7, min_width=300, elem_classes=["g-right"]):
                with gr.Column(elem_classes=["g-card", "g-results"]):
                    region("race", templates.RACE)
                    summary = region("summary", templates.SUMMARY, start.summary)
                with gr.Column(elem_classes=["g-card", "g-results"]):
                    region("answers", templates.ANSWERS)
                views = _round_views(start, summary)
        gr.HTML(
            html_template=templates.root("models", model_list()),
            js_on_load=None,
            apply_default_css=False,
            elem_id="g-models",
            elem_classes=["g-region", "g-card"],
        )
        frame = [ask.message, channel, views.tree, views.prefix, views.entropy, views.summary]
        frame.append(views.tabs)
        running = _wire(session, examples, held, ask, views, channel, frame)
        _keep_informed(session, held, ask, status, running)
        _forget_at_the_end(demo, held)
        add_api(session)
    # Of each quick event, a page read for instance, one at a time; runs have a limit of their own.
    # Nothing that waits may be called past the queue.
    return demo.queue(max_size=MAX_QUEUED, default_concurrency_limit=1, api_open=False)


def _ask_column(
    first: Example | None,
    examples: tuple[Example, ...],
    held: Held | None,
    start: Frame,
    cost: str,
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
    likely = region("cost", value=cost)
    message = region("state", value=start.state, root='role="status" aria-live="polite"')
    talk = region("talk", templates.TALK, talk_value(held))
    return _Ask(
        page,
        pages,
        chosen,
        file,
        question,
        suggestions,
        run,
        stop,
        likely,
        message,
        talk,
        controls(),
    )


def _round_views(start: Frame, summary: gr.HTML) -> _Views:
    with gr.Column(elem_classes=["g-card", "g-results", "g-rounds"]):
        region("scrubber", templates.SCRUBBER)
        region("which", templates.WHICH, server_functions=[lane_of])
        tree = plotly_view("tree", start.tree, [tree_of])
        with gr.Row(elem_classes=["g-pair"]):
            prefix = plotly_view("prefix", start.prefix)
            entropy = plotly_view("entropy", start.entropy)
        tabs = region("tabs", templates.TABS, start.tabs, server_functions=[study_of])
    with gr.Row(elem_classes=["g-foot"]):
        region("export", templates.EXPORT, server_functions=[replay_of, rounds_of])
        region("link", templates.LINK)
        opened = gr.UploadButton("Open trace", file_types=[".jsonl"], elem_id="g-open", size="sm")
    return _Views(summary, tree, prefix, entropy, tabs, opened)


def _wire(
    session: Session,
    examples: tuple[Example, ...],
    held: gr.State,
    ask: _Ask,
    views: _Views,
    channel: gr.HTML,
    frame: list[gr.HTML],
) -> gr.events.Dependency:
    def run(file: Held | None, question: str, *controls: Any) -> Iterator[Sequence[Any]]:
        shown: Sequence[Any] = (gr.skip(),) * len(frame)
        for each in on_run(session, file, question, *controls):
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
            talk_value(file),
            *updates(each),
        )

    def upload(file: dict[str, Any] | None) -> Sequence[Any]:
        with uploaded(file) as path:
            return (*on_upload(path), thumbnails(examples, None), None, talk_value(None))

    def turn(file: Held | None, event: gr.EventData) -> Sequence[Any]:
        file, shown, told = on_pages(file, event.value)
        return file, gr.skip() if shown is None else shown, told, talk_value(file)

    def talk(file: Held | None, typed: str, event: gr.EventData) -> Sequence[Any]:
        return on_talk(file, typed, event.value)

    def suggest(event: gr.EventData) -> str:
        return event.value

    def open_trace(file: dict[str, Any] | None, held: Held | None) -> Sequence[Any]:
        with uploaded(file) as path:
            page, typed, each = on_open(path, held)
        asked = gr.skip() if typed is None else typed
        if page is None:
            return (*(gr.skip(),) * 5, asked, *updates(each))
        # a copy of the page, to look at, or none: a run needs the page itself
        shown = thumbnails(examples, None)
        return (None, page, None, shown, talk_value(None), asked, *updates(each))

    running = ask.run.click(
        run,
        [held, ask.question, *ask.controls.values],
        frame,
        concurrency_id="target",
        trigger_mode="multiple",  # player.js lets one press through at a time
        concurrency_limit=MAX_RUNS,  # those waiting are told so; one at a time decodes
        **QUIET,
    )
    ask.stop.click(
        lambda trace: updates(on_stop(trace)),
        channel,
        frame,
        cancels=[running],
        queue=False,
        **QUIET,
    )
    picked = ask.examples.select(
        pick,
        None,
        [held, ask.page, ask.file, ask.question, ask.suggestions, ask.examples, ask.talk, *frame],
        cancels=[running],
        **QUIET,
    )
    ask.suggestions.select(suggest, None, ask.question, **QUIET)
    # the browser's own events tell of typing only
    ask.question.change(None, js="() => { window.GLANCE?.emit('question'); }", **QUIET)
    uploads = ask.file.upload(
        upload,
        ask.file,
        [held, ask.page, ask.suggestions, ask.message, ask.examples, ask.file, ask.talk],
        cancels=[running],
        preprocess=False,  # which would leave an empty file behind, see app.uploads
        **QUIET,
    )
    turned = ask.pages.select(
        turn,
        held,
        [held, ask.page, ask.message, ask.talk],
        cancels=[running],
        trigger_mode="always_last",
        **QUIET,
    )
    ask.talk.select(
        talk, [held, ask.question], [held, ask.question, ask.talk], queue=False, **QUIET
    )
    opens = views.opened.upload(
        open_trace,
        [views.opened, held],
        [held, ask.page, ask.file, ask.examples, ask.talk, ask.question, *frame],
        cancels=[running],
        preprocess=False,
        **QUIET,
    )
    for reading in (picked, uploads, turned, opens):
        reading.then(None, js="() => { window.GLANCE.emit('read'); }", **QUIET)
    return running


def _keep_informed(
    session: Session,
    held: gr.State,
    ask: _Ask,
    status: gr.HTML,
    running: gr.events.Dependency,
) -> None:
    """What is known of the machine, of the chosen drafters, and so of a run's cost."""
    first, second, limit = ask.controls.first, ask.controls.second, ask.controls.limit
    asked = [held, first, second, limit]

    def cost(*chosen: Any) -> str:
        return hint(session.host, *chosen)

    def both(*chosen: Any) -> tuple[str, str]:
        return session.status(), cost(*chosen)

    clock = gr.Timer(1.0)
    clock.tick(
        lambda *chosen: (*both(*chosen), gr.Timer(active=not session.settled)),
        asked,
        [status, ask.cost, clock],
        queue=False,
        **QUIET,
    )
    running.then(both, asked, [status, ask.cost], queue=False, **QUIET)
    lanes = [first, second]
    changed = [each.change for each in lanes]
    gr.on(changed, cards, lanes, ask.controls.cards, queue=False, **QUIET)
    gr.on(
        [*changed, limit.change, ask.page.change],
        cost,
        asked,
        ask.cost,
        queue=False,
        trigger_mode="always_last",
        **QUIET,
    )


def _forget_at_the_end(demo: gr.Blocks, held: gr.State) -> None:
    """Let go of a visitor's file when the tab is closed; Gradio would keep it for an hour."""

    def forget(request: gr.Request) -> None:
        if request.session_hash in demo.state_holder:
            state = demo.state_holder[request.session_hash]
            # not deleted, as a tab that only lost its connection would get the first example
            if file := state[held._id]:
                state[held._id] = file.forgotten()

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
        # or Gradio asks its own page once, for 3 s, and a busy machine's server ends there
        "_frontend": False,
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
