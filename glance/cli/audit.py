"""`audit`: the tokens of every drafter against `model.generate()` on pages never trained on."""

from __future__ import annotations

import math
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from glance.cli.decoding import decode_config, drafter_names, load_named, measured_costs
from glance.cli.output import live, note, show, write_json
from glance.cli.target import named_target
from glance.documents.dataset import one_a_page
from glance.documents.mix import TASKS
from glance.drafters.load import NAMES, PLAIN
from glance.drafters.presets import shape_for
from glance.trace import provenance

if TYPE_CHECKING:
    from torch import Tensor

    from glance.drafters.base import Drafter
    from glance.targets.base import Target
    from glance.types import DraftBlock, Prompt


def run(options: Namespace) -> int:
    """Print one line a lane, the controls first, and what it rests on; 1 if any answer differs.

    2 if a fault was planted where no lane could have noticed it.
    """
    named = drafter_names(options)
    if options.fault and set(named) == {PLAIN}:
        note(f"A fault can only be planted where something drafts: name more than {PLAIN}.")
        return 2
    note("loading the model")
    from glance.audit import LONG, PARTIAL, PER_TASK, TOKENS, covered, reference_answers, run_audit
    from glance.certificate import HALF

    target = named_target(options)
    loaded = {
        name: load_named(name, target, options, shape_for(name, options.budget))
        for name in named
        if name in NAMES
    }
    # one config for all lanes: costs decide about speed alone, so those of one drafter will do
    first = next(filter(None, loaded.values()), None)
    config = decode_config(options, measured_costs(options, target, [first]))
    tasks, prompts, past_end = _asked(target, options.n)
    answers = reference_answers(target, prompts, config, live, past_end=past_end)
    drafters = [
        loaded[name] if name in loaded else _test_drafter(name, target, answers) for name in named
    ]
    if options.fault:
        note(f"the fault {options.fault!r} is planted: a difference is what should be found")
    report = run_audit(target, drafters, prompts, config, options.fault, live, answers, past_end)
    coverage = covered(report, tasks, answers)
    show(str(report))
    show(str(coverage))
    if target.dtype in HALF:
        note(
            f"In {target.dtype_name} answers may part at near ties: a lane passes where every "
            "token is, within rounding, the best after what was committed before it."
        )
    if not coverage.full:
        note(
            f"This is less than a full audit: {PER_TASK} prompts of every task, half of the "
            f"answers of {LONG} tokens or more, {TOKENS} tokens and {PARTIAL} partial rounds."
        )
    result = {
        "target": {"name": target.name, "revision": target.revision, "dtype": target.dtype_name},
        "settings": asdict(config),
        "passed": report.passed,
        "fault": report.fault,
        "coverage": {**asdict(coverage), "full": coverage.full},
        "rows": [{**asdict(row), "passed": row.passed} for row in report.rows],
        "provenance": provenance(),
    }
    write_json(options.json, result)
    if report.passed and report.fault:
        note("The planted fault was not noticed: use a drafter that branches, or more questions.")
        return 2
    return 0 if report.passed else 1


def _asked(target: Target, n: int) -> tuple[list[str], list[Prompt], set[int]]:
    """Tasks and prompts of n questions of the test split, as many of each task as of the others.

    And which of them to answer on past the end, every second one of a task, as most answers are
    too short to tell much.
    """
    tasks: list[str] = []
    prompts: list[Prompt] = []
    past_end = set()
    seen: Counter[str] = Counter()
    for drawn, asked in islice(one_a_page("test", TASKS, math.ceil(n / len(TASKS))), n):
        if seen[asked.task] % 2:
            past_end.add(len(prompts))
        seen[asked.task] += 1
        tasks.append(asked.task)
        prompts.append(target.prompt(drawn.image.convert("RGB"), asked.question, asked.history))
    return tasks, prompts, past_end


def _test_drafter(name: str, target: Target, answers: Sequence[list[int]]) -> Drafter:
    from glance.drafters import toy

    if name == toy.RandomDrafter.name:
        return toy.RandomDrafter(target.vocab_size)
    kinds = {kind.name: kind for kind in (toy.OracleDrafter, toy.NoisyDrafter, toy.AlwaysWrong)}
    return _Coached([kinds[name](answer, target.vocab_size) for answer in answers])


class _Coached:
    """A test drafter that knows the answers: each request it starts takes the next one."""

    taps: tuple[int, ...] = ()
    passes = 1
    revision = ""

    def __init__(self, coaches: Sequence[Any]) -> None:
        self._coaches = iter(coaches)
        self.name: str = coaches[0].name
        self.block_size: int = coaches[0].block_size

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> Any:
        coach = next(self._coaches)
        return coach, coach.start(prompt_ids, positions)

    def draft(self, state: Any, out: list[int], features: Tensor | None) -> DraftBlock:
        coach, inner = state
        return coach.draft(inner, out, features)
