"""bench: every lane on the same prompts in one process, timed in turns.

Each prompt is answered by all lanes before the next one comes, in an order that rotates, so that
whatever else the machine does hits all lanes alike. Greedy only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from glance.bench_lanes import Contender, Run, Threads, make_lanes
from glance.bench_rows import GENERATE, Measured, Sample, medians
from glance.bench_widths import Committed, replay_answer
from glance.budget import CostProfile
from glance.clock import Clock
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.documents.dataset import one_a_page
from glance.documents.examples import Example
from glance.documents.intake import DocumentError, load_document
from glance.drafters.base import Drafter
from glance.drafters.load import PLAIN
from glance.lane import TextStream
from glance.profiling import measure_costs
from glance.replay import lanes
from glance.targets.base import Target
from glance.together import gathered, merged
from glance.types import Prompt, PromptError

SPLIT = "test"
REPEATS = 3
PROBE_TOKENS = 48  # longest answer in the pre-run that chooses threads

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What was measured on one task."""

    lanes: dict[str, list[Measured]]  # one entry a prompt
    threads: dict[str, Threads]  # that each lane took
    widths: list[Committed]  # rounds replayed, one entry a prompt; empty if none were asked for


def questions(target: Target, task: str, n: int, split: str = SPLIT) -> Iterator[Prompt]:
    """The first n questions of a task of the document generator, one a page, made when asked for.

    Task names: `glance.documents.page.Question`.
    """
    for drawn, asked in one_a_page(split, [task], n):
        yield target.prompt(drawn.image.convert("RGB"), asked.question, asked.history)


def brought(
    target: Target,
    examples: Iterable[Example],
    max_new_tokens: int,
    say: Progress,
) -> Iterator[Prompt]:
    """Questions about image files of one's own, made when asked for.

    One whose file cannot be read, or that leaves no room for its answer, is left out and told of.
    """
    for example in examples:
        try:
            prompt = target.prompt(load_document(example.image).image, example.question)
            target.check_length(prompt, max_new_tokens)
        except (DocumentError, PromptError) as error:
            say(f"{example.image.name} is left out: {error}")
        else:
            yield prompt


def shared(own: TaskResult) -> TaskResult:
    """What all processes that were launched together measured, in each of them."""
    return TaskResult(
        {name: merged(prompts) for name, prompts in own.lanes.items()},
        next((threads for threads in gathered(own.threads) if threads), {}),
        merged(own.widths),
    )


def run_task(
    target: Target,
    contenders: Sequence[Contender],
    prompts: Iterable[Prompt],
    config: DecodeConfig,  # but for the node budget
    counts: Sequence[int] = (1, 2),  # of threads, to choose from
    clock: Clock | None = None,
    progress: Progress = lambda _: None,
    widened: Drafter | None = None,  # whose rounds are replayed, untimed,
    widths: Sequence[int] = (),  # with each of these node budgets
) -> TaskResult:
    """Measure every lane on the prompts of one task.

    Raises:
        PromptError: a prompt and its answer do not fit the target's context.
    """
    timed = make_lanes(target, contenders, config, clock)
    short = replace(config, max_new_tokens=min(PROBE_TOKENS, config.max_new_tokens))
    plain = Decoder(target, None, config)
    swap = target.certificate.swap if target.certificate else None
    result = TaskResult({name: [] for name in timed}, {}, [])
    before = torch.get_num_threads()
    try:
        for number, prompt in enumerate(prompts):
            progress(f"prompt {number + 1}: the reference")  # it warms up what is shared, too
            reference = lanes(list(plain.stream(prompt)))[PLAIN]
            answer = reference.ids
            best_two = [
                ([token_id for token_id, _, _ in token["top"][:2]], token["margin"])
                for token in reference.tokens
            ]
            if not result.threads:
                probes = make_lanes(target, contenders, short, clock)
                known = answer[: short.max_new_tokens]
                for name, run in probes.items():
                    progress(f"choosing threads for {name}")
                    result.threads[name] = choose_threads(run, prompt, known, counts)
                one_call = result.threads[GENERATE]  # has one count for both phases
                result.threads[GENERATE] = replace(one_call, prefill=one_call.decode)
            samples = take_turns(timed, prompt, answer, result.threads, number, progress)
            for name, own in samples.items():
                added = characters(target, own[0].ids)
                result.lanes[name].append(medians(own, answer, added, best_two, swap))
            if widened:
                result.widths.append(replay_answer(target, widened, prompt, answer, widths))
    finally:
        torch.set_num_threads(before)
    return result


def characters(target: Target, answer: Sequence[int]) -> int:
    """Characters of the text that an answer's rounds add: all but the prefill token's."""
    text = TextStream(target.decode_text)
    for at, token_id in enumerate(answer):
        text.push(token_id, last=at == len(answer) - 1)
        if at == 0:
            before = text.length
    return text.length - before


def costs_by_threads(
    target: Target, drafter: Drafter | None, counts: Sequence[int]
) -> dict[int, CostProfile]:
    """What a round costs with each count of threads: more of them make a larger tree pay."""
    before = torch.get_num_threads()
    costs = {}
    try:
        for threads in counts:
            torch.set_num_threads(threads)
            costs[threads] = measure_costs(target, drafter)
    finally:
        torch.set_num_threads(before)
    return costs


def choose_threads(
    run: Run,
    prompt: Prompt,
    answer: Sequence[int],
    counts: Sequence[int],
    repeats: int = REPEATS,  # the first of them also warms the lane up
) -> Threads:
    """The count with which the lane prefills fastest, and the one with which it decodes fastest."""
    taken = [
        (threads, run(prompt, answer, Threads(threads, threads)))
        for _ in range(repeats)
        for threads in counts
    ]
    return Threads(
        prefill=min(taken, key=lambda one: one[1].prefill_ms)[0],
        decode=min(taken, key=lambda one: one[1].decode_ms)[0],
    )


def take_turns(
    timed: Mapping[str, Run],
    prompt: Prompt,
    answer: Sequence[int],
    threads: Mapping[str, Threads],
    number: int,  # of the prompt: says who begins
    progress: Progress = lambda _: None,
    repeats: int = REPEATS,
) -> dict[str, list[Sample]]:
    """All lanes on one prompt, `repeats` times; each turn begins with another lane."""
    names = list(timed)
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    for repeat in range(repeats):
        begin = (number * repeats + repeat) % len(names)
        for name in names[begin:] + names[:begin]:
            progress(f"prompt {number + 1}, turn {repeat + 1} of {repeats}: {name}")
            samples[name].append(timed[name](prompt, answer, threads[name]))
    return samples
