"""`bench`: tokens a pass and time a token of every lane, on pages never trained on.

With `--search`: the best setting of every drafter, on pages kept for that.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from glance.bench_budgets import Against, against_fixed
from glance.bench_matched import OURS, THEIRS, Matched, matched
from glance.bench_rows import (
    BARE,
    GENERATE,
    GROUNDED,
    Mean,
    Results,
    Row,
    alarms,
    faster_baseline,
    means,
    mismatches,
    near_ties,
    plain_over,
    rows,
)
from glance.cli import search
from glance.cli.contenders import as_json, contend, load_shaped, settings, show_settings
from glance.cli.output import Cell, live, note, show, show_table, write_json
from glance.cli.target import named_target
from glance.config import AUTO, DecodeConfig
from glance.documents import mix
from glance.documents.examples import DataError, Example, read_examples
from glance.drafters.load import PLAIN
from glance.machine import BUSY, cores, load
from glance.paper import MATCHED_NODES, MATCHED_RATIO, SOURCE
from glance.trace import provenance

if TYPE_CHECKING:
    from glance.bench import TaskResult
    from glance.bench_lanes import Contender, Threads
    from glance.bench_widths import Width

HEADS = (
    "drafter",
    "tau",
    "-last",
    "ch/tok",
    "ch/rnd",
    "passes",
    "ms/tok",
    "e2e ms",
    "speed-up",
    "95%",
    "e2e x",
    "swaps",
)
STAGES = ("draft", "build", "verify", "accept", "commit", "other")
STAGE_HEADS = ("time by stage, %", *STAGES, "drafts", "nodes", "oracle", "threads")
MEAN_HEADS = (
    "drafter",
    "tau",
    "nodes",
    "speed-up",
    "95%",
    "e2e x",
    "oracle",
    "grounded tau",
    "speed-up",
    "95%",
)
LEGEND = f"""\
tau: tokens a round, with and without each answer's last round; ch: characters a token, a round
passes: of the target, in all; ms/tok: from the prefill token on, e2e ms: vision and prefill too
drafts: drafter passes a round; nodes: drafted and verified, a round; threads: prefill/decode
oracle: share of the speed that a drafter which is always right would have
grounded: {", ".join(GROUNDED)} only
swaps: tokens that rounding can swap, in half precision\
"""


def run(options: Namespace) -> int:
    """Print tables of every task and the means; 1 if an answer differs, 2 on a busy machine."""
    if options.widths and set(options.drafters) == {PLAIN}:
        note("--widths needs a drafter beside ar.")
        return 2
    if options.search and options.data:
        note("--search is for pages of the validation split: leave --data away.")
        return 2
    if options.search and (options.budget or options.widths):
        note("--search tries node budgets of its own: leave --budget and --widths away.")
        return 2
    if options.data and options.tasks:
        note("A data file has tasks of its own: leave --tasks away.")
        return 2
    options.tasks = options.tasks or mix.TASKS
    from glance.together import gathered, joined, own_device, processes

    with joined():
        if processes() > 1 and not options.data:
            note("Several processes share the questions of a data file: name it with --data.")
            return 2
        options.device = options.device and own_device(options.device)
        return _bench(options, gathered(load())[0])


def _bench(options: Namespace, busy: float | None) -> int:
    if busy is not None and busy > BUSY:
        if not options.force:
            note(
                f"The machine is busy (load {busy:.2f}, over {BUSY}), so times would mean little: "
                "try again later, or use --force."
            )
            return 2
        note(f"the machine is busy (load {busy:.2f}): times will mean little")
    if options.search:
        return search.run(options, busy)
    asked = _asked(options)  # refuse before a model loads
    note("loading the model")
    from glance.bench import REPEATS, SPLIT, brought, questions, run_task, shared
    from glance.bench_search import FOUND, read_found
    from glance.bench_widths import widths
    from glance.together import is_first, share

    target = named_target(options)
    counts = [threads for threads in (1, 2) if threads <= cores()]
    chosen = settings(options, read_found(FOUND, target), target)
    contenders = [contend(setting, target, options, counts) for setting in chosen]
    widened = None
    if options.widths:
        widened = load_shaped(chosen[0].preset, max(options.widths), target, options)
    config = DecodeConfig(max_new_tokens=options.max_tokens)
    measured: dict[str, TaskResult] = {}
    for task, examples in asked.items():
        count = len(examples) or options.n
        note(f"{task}: {count} prompts, every lane {REPEATS} times on each")
        own = run_task(
            target,
            contenders,
            brought(target, share(examples), options.max_tokens, note)
            if examples
            else questions(target, task, count),
            config,
            counts,
            progress=live,
            widened=widened,
            widths=options.widths,
        )
        every = shared(own)
        if every.lanes[PLAIN]:
            measured[task] = every
    if not measured:
        raise DataError(f"No question of {options.data} could be asked.")
    if not is_first():
        return 1 if mismatches({task: one.lanes for task, one in measured.items()}) else 0
    results = {task: result.lanes for task, result in measured.items()}
    differing, ties = mismatches(results), near_ties(results)
    warnings = alarms(results, [one.name for one in contenders if one.drafter.taps])
    pairs = matched(results) if _alike(contenders) else []
    show_settings(chosen, contenders)
    _show(measured, results)
    by_width = widths({task: result.widths for task, result in measured.items()})
    _show_widths(by_width)
    _show_matched(pairs)
    budgets = against_fixed(results, _auto_and_fixed(contenders))
    _show_budgets(budgets)
    show(LEGEND)
    for words in (*map(str, differing), *warnings):
        show(words)
    if ties:
        show(f"Answers that part from {PLAIN}'s at a near tie: {len(ties)}. The first: {ties[0]}")
    result = {
        "target": {"name": target.name, "revision": target.revision, "dtype": target.dtype_name},
        "drafters": [as_json(*pair) for pair in zip(chosen, contenders, strict=True)],
        "settings": {
            "max_new_tokens": options.max_tokens,
            "split": None if options.data else SPLIT,
            "data": str(options.data) if options.data else None,
            "n": options.n,
            "repeats": REPEATS,
        },
        "load": busy,
        "forced": options.force,
        "rows": [asdict(row) for row in rows(results)],
        "means": [asdict(mean) for mean in means(results)],
        "widths": [asdict(one) for one in by_width],
        "matched": [asdict(one) for one in pairs],
        "budgets": [asdict(one) for one in budgets],
        "plain_over_bare": plain_over(results, BARE),
        "plain_over_generate": plain_over(results, GENERATE),
        "mismatches": [asdict(one) for one in differing],
        "near_ties": [asdict(one) for one in ties],
        "warnings": warnings,
        "threads": {
            task: {name: asdict(threads) for name, threads in one.threads.items()}
            for task, one in measured.items()
        },
        "provenance": provenance(),
    }
    write_json(options.json, result)
    return 1 if differing else 0


def _asked(options: Namespace) -> dict[str, list[Example]]:
    """Of a data file its tasks, each with its first questions; of generated pages those named."""
    tasks: dict[str, list[Example]] = {}
    if not options.data:
        return {task: [] for task in options.tasks}
    for example in read_examples(options.data):
        own = tasks.setdefault(example.task, [])
        if len(own) < options.n:
            own.append(example)
    return tasks


def _alike(contenders: Sequence[Contender]) -> bool:
    """Whether this is the paper's matched comparison: a fixed node budget for both."""
    budgets = {one.name: one.node_budget for one in contenders}
    return budgets.get(OURS) == budgets.get(THEIRS) == MATCHED_NODES


def _show(measured: Mapping[str, TaskResult], results: Results) -> None:
    all_rows = rows(results)
    over_bare, over_generate = plain_over(results, BARE), plain_over(results, GENERATE)
    for task, lanes in results.items():
        own = [row for row in all_rows if row.task == task]
        plain = next(row for row in own if row.drafter == PLAIN)
        length = "" if plain.tokens is None else f", {plain.answer_tokens_mean:.1f} tokens each"
        over = faster_baseline(lanes)
        show(f"{task}: {plain.n} answers{length}; speed-up over {over or 'nothing'}")
        show_table(HEADS, [_cells(row) for row in own])
        show()
        threads = measured[task].threads
        show_table(STAGE_HEADS, [_stages(row, threads[row.drafter]) for row in own])
        for found, words in ((over_bare, "a bare one-row pass"), (over_generate, "generate()'s")):
            if task in found:
                show(f"A plain token takes {found[task]:.3f} times {words}.")
        show()
    overall = means(results)
    if overall:
        show("over all tasks: tau the mean, speed the geometric mean")
        show_table(MEAN_HEADS, [_mean_cells(mean) for mean in overall])
        show()


def _show_widths(by_width: Sequence[Width]) -> None:
    if not by_width:
        return
    show("tau of the tree over that of the chain, by node budget")
    budgets = list(dict.fromkeys(one.budget for one in by_width))
    ratios = {(one.task, one.budget): one.ratio for one in by_width}
    show_table(
        ("task", *map(str, budgets)),
        [
            [task, *(ratios[task, budget] for budget in budgets)]
            for task in dict.fromkeys(task for task, _ in ratios)
        ],
    )
    show()


def _show_matched(pairs: Sequence[Matched]) -> None:
    if not pairs:
        return
    show(f"tau of {OURS} over that of {THEIRS}, {MATCHED_NODES} nodes at most")
    heads = ("task", OURS, THEIRS, "ratio", "95%")
    rows = [[one.task, one.glance, one.eagle3_chain, one.ratio, _interval(one.ci)] for one in pairs]
    show_table(heads, rows)
    show(f"In the paper ({SOURCE}) the pooled ratio is {MATCHED_RATIO}.")
    show()


def _auto_and_fixed(contenders: Sequence[Contender]) -> list[tuple[str, str]]:
    """Lanes of one drafter, grown alike, of which only the first has an automatic node budget."""
    return [
        (auto.name, fixed.name)
        for auto in contenders
        for fixed in contenders
        if auto.node_budget == AUTO != fixed.node_budget
        and auto.name.partition("@")[0] == fixed.name.partition("@")[0]
    ]


def _show_budgets(budgets: Sequence[Against]) -> None:
    if not budgets:
        return
    show("decode speed with the automatic node budget over that with a fixed one")
    table = [[one.task, one.auto, one.fixed, one.ratio, _interval(one.ci)] for one in budgets]
    show_table(("task", "auto", "fixed", "ratio", "95%"), table)
    show()


def _cells(row: Row) -> list[Cell]:
    return [
        row.drafter,
        row.tau,
        row.tau_without_last,
        row.chars_per_token,
        row.chars_per_round,
        row.target_passes,
        row.ms_per_token,
        row.ms_per_token_e2e,
        row.speedup,
        _interval(row.speedup_ci),
        row.speedup_e2e,
        row.uncertified,
    ]


def _stages(row: Row, threads: Threads) -> list[Cell]:
    shares = [None if row.shares is None else 100 * row.shares[stage] for stage in STAGES]
    phases = f"{threads.prefill}/{threads.decode}"
    return [row.drafter, *shares, row.drafter_passes, row.nodes, row.oracle_share, phases]


def _mean_cells(mean: Mean) -> list[Cell]:
    return [
        mean.drafter,
        mean.tau,
        mean.nodes,
        mean.speedup,
        _interval(mean.speedup_ci),
        mean.speedup_e2e,
        mean.oracle_share,
        mean.grounded_tau,
        mean.grounded_speedup,
        _interval(mean.grounded_speedup_ci),
    ]


def _interval(ci: tuple[float, float] | None) -> str | None:
    return None if ci is None else f"{ci[0]:.2f}–{ci[1]:.2f}"
