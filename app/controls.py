"""What a reader sets before a run: two lanes, their cards, how to decode. Layout only."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from app.choices import cards, options, second_options
from app.components.region import region
from app.session import DRAFTERS, LANES
from app.settings import DEFAULTS, MAX_TOKENS, NO_LANE
from app.zerogpu import on_zerogpu
from glance.config import MAX_SEED, MAX_TEMPERATURE, MOST_NODES


@dataclass(frozen=True, slots=True)
class Controls:
    """The components; `values` are the inputs of `app.settings.chosen`, in its order."""

    first: gr.Dropdown
    second: gr.Dropdown
    cards: gr.HTML
    budget: gr.Slider
    auto: gr.Checkbox
    limit: gr.Slider
    temperature: gr.Number
    seed: gr.Number

    @property
    def values(self) -> list[gr.components.Component]:
        """What a run is given."""
        lanes = [self.first, self.second]
        return [*lanes, self.budget, self.auto, self.limit, self.temperature, self.seed]


def first_lanes() -> tuple[str, str]:
    """The lanes that are chosen when the page opens."""
    # the second lane costs a visitor's daily GPU time too
    return LANES[0], NO_LANE if on_zerogpu() else LANES[1]


def controls() -> Controls:
    """The controls, where they stand on the page."""
    lanes = first_lanes()
    with gr.Row(elem_classes=["g-choice"]):
        first = gr.Dropdown(
            options(DRAFTERS),
            value=lanes[0],
            label="Decode with",
            filterable=False,
            min_width=130,
            elem_id="g-first",
        )
        second = gr.Dropdown(
            second_options(DRAFTERS),
            value=lanes[1],
            label="Beside it",
            filterable=False,
            min_width=130,
            elem_id="g-second",
        )
    shown = region("cards", value=cards(*lanes))
    with gr.Accordion("Settings", open=False, elem_id="g-settings"):
        budget = gr.Slider(
            1,
            MOST_NODES,
            DEFAULTS.node_budget,
            step=1,
            label="Node budget: most candidates of a round",
        )
        auto = gr.Checkbox(
            False,
            label="Auto: every round takes what costs measured on this machine speak for",
            elem_id="g-auto",
        )
        limit = gr.Slider(
            1, MAX_TOKENS, DEFAULTS.max_new_tokens, step=1, label="Max tokens of the answer"
        )
        with gr.Row(elem_classes=["g-choice"]):
            # the bounds are not Gradio's to check: its words would not be ours
            temperature = gr.Number(
                DEFAULTS.temperature,
                step=0.1,
                label="Temperature",
                info=f"0 to {MAX_TEMPERATURE:g}; above 0 tokens are drawn",
                min_width=130,
                elem_id="g-temperature",
            )
            seed = gr.Number(
                DEFAULTS.seed,
                step=1,
                label="Seed",
                info=f"of the draws: 0 to {MAX_SEED:,}",
                min_width=130,
                elem_id="g-seed",
            )
    auto.input(
        lambda on: gr.Slider(interactive=not on),
        auto,
        budget,
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
    return Controls(first, second, shown, budget, auto, limit, temperature, seed)
