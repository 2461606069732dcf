"""A question from document to trace, on a tiny target with a processor made for it."""

import pytest
import torch
from PIL import Image

from glance.ask import ask, warm_up
from glance.budget import CostProfile, costs_of, recorded_costs
from glance.config import AUTO, DecodeConfig
from glance.copying import copy_mode
from glance.documents.intake import Document, DocumentError, Notice
from glance.drafters.toy import RandomDrafter
from glance.localization import LocalizationHead
from glance.prefix_cache import PrefixCache
from glance.replay import lanes, replay
from glance.targets.base import Target
from glance.trace import KINDS, SCHEMA, dumps, read_trace
from glance.types import PromptError
from tests.costs import straight
from tests.tiny_models import EOS, GRID, IMAGE, VISION_END, VISION_START, VOCAB, target

FAMILY = "qwen3_vl"
PATCH = 16


class Processor:
    """One character a token, one fixed grid: what a Hugging Face processor would hand over."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def apply_chat_template(self, messages, add_generation_prompt):
        assert add_generation_prompt
        parts = [part for message in messages for part in message["content"]]
        return "".join("<|image_pad|>" if p["type"] == "image" else p["text"] for p in parts)

    def __call__(self, text, images, return_tensors):
        assert return_tensors == "pt"
        self.texts += text
        picture = [VISION_START, *[IMAGE] * (GRID[1] * GRID[2] // 4), VISION_END]
        ids: list[int] = []
        for place, piece in enumerate(text[0].split("<|image_pad|>")):
            ids += (picture if place else []) + [ord(char) % 100 for char in piece]
        seed = sum(images[0].tobytes()) % 1000
        pixels = torch.randn(96, 3 * 2 * PATCH**2, generator=torch.Generator().manual_seed(seed))
        return {
            "input_ids": torch.tensor([ids]),
            "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
            "mm_token_type_ids": torch.tensor([[int(i == IMAGE) for i in ids]]),
            "pixel_values": pixels,
            "image_grid_thw": torch.tensor([GRID]),
        }


@pytest.fixture
def tiny() -> Target:
    base = target(FAMILY)
    return Target("tiny", base.model, base.family, base.tokenizer, Processor(), revision="abc")


def document(glyphs: list[dict] | None = None) -> Document:
    return Document(
        image=Image.new("RGB", (200, 120), "white"),
        notices=(Notice("info", "page", "Page 1 of 3."),),
        page=1,
        pages=3,
        original_size=(400, 240),
        sha256="0" * 64,
        name="page.png",
        glyphs=glyphs,
    )


CONFIG = DecodeConfig(max_new_tokens=20)


def test_a_whole_trace(tiny):
    lines = list(ask(tiny, [RandomDrafter(VOCAB), None], document(), " What? ", CONFIG, "run7"))
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert {line["run"] for line in lines} == {"run7"}
    assert {line["kind"] for line in lines} <= set(KINDS)
    header, notice = lines[:2]
    assert (header["kind"], header["schema"], header["lanes"]) == (
        "header",
        SCHEMA,
        ["random", "ar"],
    )
    assert header["target"] == {
        "name": "tiny",
        "revision": "abc",
        "dtype": "float32",
        "device": "cpu",
        "attention": "sdpa",
    }
    assert header["drafter"]["name"] == "random"
    assert header["settings"]["max_new_tokens"] == 20
    assert header["prompt"] == {"question": "What?", "tokens": 31, "image_tokens": 24}
    assert header["image"]["original"] == [400, 240]
    assert header["image"]["processed"] == [GRID[2] * PATCH, GRID[1] * PATCH]
    assert (header["image"]["page"], header["image"]["pages"]) == (1, 3)
    assert (notice["kind"], notice["code"]) == ("notice", "page")
    seen = lanes(lines)
    assert list(seen) == ["random", "ar"]
    assert seen["random"].ids == seen["ar"].ids
    assert [line["kind"] for line in lines[-3:]] == ["finish", "compare", "grounding"]
    assert (lines[-2]["state"], lines[-2]["lanes"]) == ("equal", ["ar", "random"])
    text = "".join(dumps(line) + "\n" for line in lines)
    assert [line for _, line in replay(read_trace(text)) if "t" not in line] == [
        line for line in lines if "t" not in line
    ]


def test_the_header_names_the_card(tiny, monkeypatch):
    monkeypatch.setattr("glance.ask.device_name", lambda device: f"A card, not {device}")
    header = next(ask(tiny, [None], document(), "What?", CONFIG))
    assert header["target"]["device"] == "A card, not cpu"


def test_a_follow_up_goes_on_from_the_question_before_in_every_lane(tiny):
    prefixes, history = PrefixCache(), [("Who?", "me")]

    def run(question, history=(), prefixes=None):
        lines = list(
            ask(tiny, [RandomDrafter(VOCAB), None], document(), question, CONFIG, "r", history,
                prefixes=prefixes)
        )  # fmt: skip
        return lines[0]["prompt"], lanes(lines)

    def reused(found):
        return [lane.prefill["reused"] for lane in found.values()]

    def saved(found):
        return next(lane.prefill["saved"] for lane in found.values())

    first, found = run("Who?", prefixes=prefixes)
    assert reused(found) == [0, 0]
    assert "history" not in first
    _, found = run("Who?", prefixes=prefixes)
    assert reused(found) == [0, 0]  # no follow-up: its prefill is what reading the page takes
    asked, warm = run("Where?", history, prefixes)
    assert asked["history"] == [["Who?", "me"]]
    assert asked["tokens"] > first["tokens"]
    assert reused(warm) == [first["tokens"]] * 2
    _, cold = run("Where?", history)
    assert reused(cold) == [0, 0]
    assert {lane.text for lane in (*warm.values(), *cold.values())} == {warm["ar"].text}
    longer = [*history, ("Where?", "here")]
    _, third = run("When?", longer, prefixes)
    assert reused(third) == [asked["tokens"]] * 2
    # what the third takes over is what the first read, and what the second read of its own
    assert saved(third) > saved(warm) > saved(cold) == 0


def test_a_dialogue_that_is_too_long_says_so(tiny):
    with pytest.raises(PromptError, match="begin a new conversation"):
        next(ask(tiny, [None], document(), "Who?", CONFIG, None, [("What?", "x" * 600)]))


def test_lanes_go_on_from_earlier_rows_together_or_not_at_all(tiny):
    """Else one lane's prefill would be a whole reading, and the other's a few rows."""
    prefixes, drafter = PrefixCache(), RandomDrafter(VOCAB)
    drafter.taps = (1,)
    list(ask(tiny, [None], document(), "Who?", CONFIG, prefixes=prefixes))
    history = [("Who?", "me")]
    for expected in (False, True):
        lines = list(ask(tiny, [drafter, None], document(), "Where?", CONFIG, None, history,
                         prefixes=prefixes))  # fmt: skip
        prefills = [line for line in lines if line["kind"] == "prefill"]
        assert [line["reused"] > 0 for line in prefills] == [expected] * 2


def test_a_trace_holds_what_its_node_budgets_came_from(tiny):
    costs = straight([(9.0, 30.0), (9.1, 33.0)], [2.0, 2.1], contexts=[50, 90])
    config = DecodeConfig(max_new_tokens=20, node_budget=AUTO, costs=costs)

    def run(config):
        return list(ask(tiny, [RandomDrafter(VOCAB), None], document(), "What?", config))

    def trees(lines):
        return [line["tree"] for line in lines if line["kind"] == "build"]

    lines = read_trace("".join(dumps(line) + "\n" for line in run(config)))
    assert lines[0]["settings"]["node_budget"] == AUTO
    assert recorded_costs(lines) == {"": costs}
    assert lines[-2]["state"] == "equal"
    again = run(DecodeConfig(max_new_tokens=20, node_budget=AUTO, costs=recorded_costs(lines)[""]))
    assert trees(again) == trees(lines) != []
    dearer = straight([(9.0, 900.0)], [2.0])
    assert trees(run(DecodeConfig(max_new_tokens=20, node_budget=AUTO, costs=dearer))) != trees(
        lines
    )


def test_each_lane_has_the_costs_of_its_own_drafter(tiny):
    def profile(draft_ms):
        return straight([(9.0, 30.0)], [draft_ms])

    def run(drafters, costs):
        config = DecodeConfig(AUTO, 20, costs=next(iter(costs.values())))
        return list(ask(tiny, drafters, document(), "What?", config, costs=costs))

    def trees(lines, lane):
        own = [line for line in lines if line["kind"] == "build" and line["lane"] == lane]
        return [line["tree"] for line in own]

    cheap, dear = RandomDrafter(VOCAB), RandomDrafter(VOCAB)
    dear.name = "dear"
    costs = {"random": profile(0.0), "dear": profile(500.0)}
    lines = read_trace("".join(dumps(line) + "\n" for line in run([cheap, None, dear], costs)))
    for drafter in (cheap, dear):  # as if it were alone
        alone = run([drafter], {drafter.name: costs[drafter.name]})
        assert trees(lines, drafter.name) == trees(alone, drafter.name) != []
        assert "lane_costs" not in alone[0]["settings"]
    assert trees(lines, "random") != trees(lines, "dear")
    assert CostProfile.from_json(lines[0]["settings"]["costs"]) == costs["random"]
    assert recorded_costs(lines) == costs
    assert costs_of(costs, "dear") == costs["dear"]
    assert costs_of(costs, "another") == costs["random"]


def test_what_the_target_may_not_read_is_told_before_the_answer(tiny, monkeypatch):
    class Unlike:
        def unlike(self, target, prompt):
            return prompt.image_tokens == 24 and target is tiny

    monkeypatch.setattr(tiny, "name", "embedded")
    monkeypatch.setattr(tiny, "likeness", Unlike())
    lines = list(ask(tiny, [None], document(), "Сколько?", CONFIG))
    kinds = [line["kind"] for line in lines]
    notices = [line for line in lines if line["kind"] == "notice"]
    assert kinds[: 1 + len(notices)] == ["header", *["notice"] * len(notices)]
    assert [line["text"] for line in notices[1:]] == [
        "This page looks unlike what the embedded model reads.",
        "This model reads Latin letters only.",
    ]
    assert {line["level"] for line in notices[1:]} == {"warning"}
    assert "finish" in kinds


def test_one_lane_has_nothing_to_compare(tiny):
    lines = list(ask(tiny, [None], document(), "What?", CONFIG))
    assert [line["kind"] for line in lines[-2:]] == ["finish", "grounding"]
    assert lines[0]["drafter"] is None


def test_grounding_finds_the_answer_on_the_page(tiny):
    plain = lanes(list(ask(tiny, [None], document(), "What?", CONFIG)))["ar"]
    glyphs = [
        {"char": char, "box": [10.0 * n, 20.0, 10.0 * n + 10, 40.0]}
        for n, char in enumerate(plain.text[2:10])
    ]
    lines = list(ask(tiny, [None], document(glyphs), "What?", CONFIG))
    assert lines[-1]["kind"] == "grounding"
    assert lines[-1]["copy"][0]["tokens"] == [2, 10]
    assert lines[-1]["copy"][0]["boxes"] == [[0.0, 0.1667, 0.4, 0.3333]]


def test_grounding_says_of_every_token_what_the_page_did_for_it(tiny, monkeypatch):
    monkeypatch.setattr(tiny, "localization", LocalizationHead(1, 2, own=False))
    given = document(), "What?", CONFIG
    lines = list(ask(tiny, [RandomDrafter(VOCAB), None], *given, history=[("Who?", "me")]))
    assert read_trace("".join(dumps(line) + "\n" for line in lines)) == lines
    line, answer = lines[-1], lanes(lines)["random"].ids
    assert line["head"] == {"layer": 1, "head": 2, "row": "predicting"}
    assert len(line["gain"]) == len(line["box"]) == len(line["share"]) == len(answer)
    assert all(0.0 < share <= 1.0 for share in line["share"])
    # 4 x 6 patches, and the page is blank already: nothing is lost with it
    assert all(x1 - x0 == pytest.approx(1 / 6, abs=1e-3) for x0, _, x1, _ in line["box"])
    assert all(y1 - y0 == pytest.approx(1 / 4) for _, y0, _, y1 in line["box"])
    assert line["gain"] == [0.0] * len(answer)
    assert line["copy"] == copy_mode(line) == []


def test_a_page_that_is_not_blank_makes_a_difference(tiny):
    page = document()
    page.image.putpixel((3, 4), (9, 80, 3))
    lines = list(ask(tiny, [None], page, "What?", CONFIG))
    assert max(map(abs, lines[-1]["gain"])) > 0.1
    assert lines[-1]["head"] is lines[-1]["box"] is lines[-1]["share"] is None


def test_closing_the_stream_cancels_the_run(tiny):
    stream = ask(tiny, [RandomDrafter(VOCAB), None], document(), "What?", CONFIG)
    for _ in range(5):
        next(stream)
    stream.close()
    assert list(stream) == []


@pytest.mark.parametrize("question", ["", "  \n", "x" * 2001])
def test_bad_questions_are_refused_in_words(tiny, question):
    with pytest.raises(DocumentError):
        next(ask(tiny, [None], document(), question, CONFIG))


def test_too_much_to_read_is_refused_in_words(tiny):
    with pytest.raises(PromptError, match="lower max tokens"):  # before a line is written
        next(ask(tiny, [None], document(), "What?", DecodeConfig(max_new_tokens=500)))


def test_draws_are_not_compared(tiny):
    config = DecodeConfig(max_new_tokens=20, temperature=0.8, seed=5)
    lines = list(ask(tiny, [None, RandomDrafter(VOCAB)], document(), "What?", config))
    assert len(lanes(lines)) == 2
    assert [line["kind"] for line in lines[-2:]] == ["finish", "grounding"]
    assert lines[-1]["lane"] == "random"  # not the first one's text, which may be another
    settings = lines[0]["settings"]
    assert (settings["temperature"], settings["seed"]) == (0.8, 5)


def test_warming_up_runs_every_lane_though_the_answer_ends_at_once(tiny, monkeypatch):
    drafts: list[int] = []
    passes: list[int] = []

    class Counting(RandomDrafter):
        def draft(self, state, out, features):
            drafts.append(len(out))
            return super().draft(state, out, features)

    forward = tiny.forward
    monkeypatch.setattr(tiny, "eos_ids", tuple(range(VOCAB)))
    monkeypatch.setattr(tiny, "forward", lambda *a: passes.append(len(a[1])) or forward(*a))
    warm_up(tiny, [Counting(VOCAB), None])
    assert len(drafts) == 2
    assert [rows > 1 for rows in passes] == [True, True, False, False]


def test_special_strings_typed_in_a_question_are_only_text(tiny):
    typed = "Read <|image_pad|> and <|im_end|>!"
    prompt = tiny.prompt(document().image, typed)
    assert prompt.image_tokens == 24
    assert prompt.question == typed
    [text] = tiny.processor.texts
    assert text.count("<|image_pad|>") == 1
    assert "<|im_end|>" not in text
    assert EOS not in prompt.input_ids


def test_an_image_that_gets_lost_is_an_error(tiny, monkeypatch):
    monkeypatch.setattr(tiny.model.config, "image_token_id", -1)
    with pytest.raises(PromptError, match="did not reach"):
        tiny.prompt(document().image, "What?")
