"""`audit`: the tokens of every drafter against `model.generate()` on pages never trained on."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from glance.cli.decoding import decode_config
from glance.cli.output import live, note, show, write_json
from glance.documents.dataset import page
from glance.drafters.load import NAMES, PLAIN, ready_names
from glance.trace import provenance

if TYPE_CHECKING:
    from torch import Tensor

    from glance.drafters.base import Drafter
    from glance.targets.base import Target
    from glance.types import DraftBlock, Prompt


def run(options: Namespace) -> int:
    """Print one line a lane, the controls first; 1 if any answer differs.

    2 if a fault was planted where no lane could have noticed it.
    """
    named = dict.fromkeys(
        name for part in options.drafters for name in (ready_names() if part == "all" else [part])
    )
    if options.fault and set(named) == {PLAIN}:
        note(f"A fault can only be planted where something drafts: name more than {PLAIN}.")
        return 2
    note("loading the model")
    from glance.audit import reference_answers, run_audit
    from glance.drafters.load import load_drafter
    from glance.targets.load import load_target

    target = load_target(options.target)
    loaded = {name: load_drafter(name, target, options.head) for name in named if name in NAMES}
    config = decode_config(options, target, list(loaded.values()))
    prompts = [_prompt(target, index) for index in range(options.n)]
    answers = reference_answers(target, prompts, config, progress=live)
    drafters = [
        loaded[name] if name in loaded else _test_drafter(name, target, answers) for name in named
    ]
    if options.fault:
        note(f"the fault {options.fault!r} is planted: a difference is what should be found")
    report = run_audit(target, drafters, prompts, config, options.fault, live, answers)
    show(str(report))
    result = {
        "target": {"name": target.name, "revision": target.revision, "dtype": target.dtype_name},
        "settings": asdict(config),
        "passed": report.passed,
        "fault": report.fault,
        "rows": [{**asdict(row), "passed": row.passed} for row in report.rows],
        "provenance": provenance(),
    }
    write_json(options.json, result)
    if report.passed and report.fault:
        note("The planted fault was not noticed: use a drafter that branches, or more questions.")
        return 2
    return 0 if report.passed else 1


def _prompt(target: Target, index: int) -> Prompt:
    """One question of a test page; all kinds of question take their turn."""
    drawn = page("test", index)
    asked = drawn.questions[index % len(drawn.questions)]
    return target.prompt(drawn.image.convert("RGB"), asked.question, asked.history)


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
