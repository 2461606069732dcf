"""Reads the arguments, runs the command, turns what went wrong into one sentence.

No torch here: a command's module loads only when the command runs, so --help is quick.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from glance.cli.output import make_room
from glance.config import AUTO, FAULTS, MOST_NODES, NodeBudget
from glance.documents import mix
from glance.documents.intake.document import Crop
from glance.documents.public_sets import SETS as PUBLIC_SETS
from glance.drafters.load import NAMES, PLAIN, TEST_NAMES
from glance.drafters.presets import PAPER
from glance.machine import ran_out
from glance.probes import NAMES as PROBES

SPLITS = ("train", "validation", "test")
SETS = ("test", "unseen-faces", "foreign", "blank", "pairs", "scans")  # glance.documents.sets
TASKS = mix.TASKS  # what the generated pages ask
PARTS = ("guide", "hiding", "residual", "adaptor", "global-vector")  # of recipes
HEADS = ("glance", "eagle3", "eagle2", "medusa", "hivis", "vispec")  # glance.training.recipes

DESCRIPTION = """\
Ask a question about a document image. A small drafter proposes a whole block of tokens in one
pass and the model checks them in another, so the answer comes in fewer passes and is, token for
token, the one that plain autoregressive decoding ("ar") gives.
"""
EXAMPLE = """\
example:
  python -m glance ask assets/samples/receipt.png "What is the total?"

Every command has its own help: python -m glance ask --help
Progress is written to stderr, results to stdout. Exit codes: 0 all well, 1 an answer
differs from that of plain decoding, 2 the input cannot be used.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence and where to read on, instead of the whole usage."""
        self.exit(2, f"{self.prog}: {message}.\nSee {self.prog} --help\n")


class _Heads(argparse.Action):
    """Folders by name, from an option that may be repeated."""

    def __call__(
        self, _parser: object, options: argparse.Namespace, value: Any, _option: object = None
    ) -> None:
        """Add one."""
        setattr(options, self.dest, dict([*getattr(options, self.dest).items(), value]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit code: 0, 1 when ask, audit or bench finds another answer, 2 when the input cannot
        be used.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character
    options = build_parser().parse_args(arguments)
    try:
        for path in filter(None, (getattr(options, name) for name in options.written)):
            make_room(path)
        return import_module(f"glance.cli.{options.module}").run(options)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"{error.filename or 'A file'}: {error.strerror or error}.", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if not ran_out(error):
            raise
        print("This does not fit into memory: take a smaller image or model.", file=sys.stderr)
        return 2
    except ValueError as error:
        if type(error).__module__.partition(".")[0] != "glance":
            raise  # a defect, not a message: only this package's own errors are plain sentences
        print(error, file=sys.stderr)
        return 2


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="python -m glance",
        description=DESCRIPTION,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    _add_ask(commands)
    _add_replay(commands)
    _add_audit(commands)
    _add_bench(commands)
    _add_report(commands)
    _add_growth(commands)
    _add_bench_gpu(commands)
    _add_record(commands)
    _add_law(commands)
    _add_probe(commands)
    _add_eval(commands)
    _add_train(commands)
    _add_render(commands)
    _add_data(commands)
    return parser


def _add_ask(commands: argparse._SubParsersAction[_Parser]) -> None:
    ask = _command(
        commands,
        "ask",
        "answer a question about a document image",
        'python -m glance ask receipt.png "What is the total?" --trace run.jsonl',
    )
    ask.add_argument(
        "image", metavar="IMAGE", help="PDF, PNG, JPEG, HEIC, WebP, AVIF, TIFF, GIF or BMP file"
    )
    ask.add_argument("question", metavar="QUESTION", help="in quotes, 2,000 characters at most")
    ask.add_argument(
        "--then",
        action="append",
        metavar="QUESTION",
        help="a follow-up about the same page, which is not read again; repeat it to go on. "
        "--trace and --json are then about the last question",
    )
    ask.add_argument(
        "--drafter",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help=f"what decodes, of {', '.join(NAMES)}: glance drafts a tree, glance-chain a single "
        "line, ngram what stood there before, ar nothing (plain decoding); repeat it to compare, "
        "in that order (default: glance, then ar)",
    )
    _add_decoding(ask)
    _add_sampling(ask)
    ask.add_argument(
        "--profile",
        type=Path,
        metavar="FILE",
        help="decode with --budget auto and the costs that this trace has on record, not with new "
        "ones: the same question then gets the same trees",
    )
    ask.add_argument(
        "--page",
        action="append",
        type=_whole(1, 100_000),
        metavar="N",
        help="page of a PDF or TIFF file (default: 1); twice for a question about two pages",
    )
    ask.add_argument(
        "--crop",
        type=_crop,
        metavar="X0,Y0,X1,Y1",
        help="read only this part of the page, at full resolution: left, top, right and bottom as "
        "fractions of it, such as 0,0,1,0.5 for the upper half",
    )
    _add_target(ask)
    _add_loading(ask)
    _add_heads(ask)
    ask.add_argument("--trace", type=Path, metavar="FILE", help="keep every event, for replay")
    _add_json(ask)


def _add_replay(commands: argparse._SubParsersAction[_Parser]) -> None:
    replay = _command(
        commands,
        "replay",
        "show a recorded run again, round by round, without a model",
        "python -m glance replay run.jsonl",
    )
    replay.add_argument("trace", metavar="FILE", type=Path, help="a trace written by ask --trace")
    _add_written(
        replay,
        "--html",
        "also write a page that replays the run in any browser, offline: all in one file",
    )
    _add_json(replay)


def _add_audit(commands: argparse._SubParsersAction[_Parser]) -> None:
    audit = _command(
        commands,
        "audit",
        "check that every drafter gives exactly the tokens of plain decoding",
        "python -m glance audit --n 5",
    )
    audit.add_argument(
        "--drafters",
        nargs="+",
        choices=(*NAMES, *TEST_NAMES, "all"),
        default=["all"],
        metavar="NAME",
        help=f"which drafters to check beside ar, of {', '.join(NAMES)} (default: all that have a "
        f"head); or the test drafters {', '.join(TEST_NAMES)}, which need none",
    )
    audit.add_argument(
        "--n",
        type=_whole(1, 10_000),
        default=60,
        help="questions for each, of all tasks; every second answer goes on past its end, up to "
        "--max-tokens (default: 60)",
    )
    audit.add_argument(
        "--break",
        dest="fault",
        choices=FAULTS,
        help="plant a fault in the verify pass, to see that the audit catches it (exit code 1; "
        "2 if no answer changed)",
    )
    _add_decoding(audit)
    audit.set_defaults(temperature=0.0, seed=0)  # draws of two lanes need not be equal
    _add_target(audit)
    _add_loading(audit)
    _add_heads(audit)
    _add_json(audit)


def _add_bench(commands: argparse._SubParsersAction[_Parser]) -> None:
    bench = _command(
        commands,
        "bench",
        "measure tokens a pass and time a token of every drafter beside plain decoding",
        "python -m glance bench --n 5 --json bench.json",
    )
    _add_tasks(bench)
    bench.set_defaults(tasks=None)  # a data file has its own, so whether they are given counts
    bench.add_argument(
        "--drafters",
        nargs="+",
        choices=(*PAPER, PLAIN, "all"),
        default=["all"],
        metavar="NAME",
        help=f"which to measure, of {', '.join(PAPER)} (default: all that have a head), each as "
        "its paper sets it and, as NAME-best, as --search found best; ar, the model's own "
        "generate, its bare pass and an oracle are always measured, so ar alone means no other",
    )
    bench.add_argument(
        "--search",
        action="store_true",
        help="instead of measuring lanes, find the best node budget and depth of each drafter on "
        "pages of the validation split; what is found of the shipped target and heads, in float32 "
        "on a CPU, is kept in assets/results/presets.json, written anew",
    )
    _add_per_task(bench)
    _add_data_file(bench)
    bench.add_argument(
        "--widths",
        nargs="+",
        type=_whole(1, 1024),
        default=[],
        metavar="N",
        help="also compare the first drafter's tree of N drafted tokens with its chain, by the "
        "tokens that a round commits; takes no part in what is timed (for example: --widths 15 63)",
    )
    bench.add_argument(
        "--force", action="store_true", help="measure on a busy machine too; the JSON says so"
    )
    bench.add_argument(
        "--budget",
        type=_budget,
        nargs="+",
        metavar="N|auto",
        help="measure every drafter with at most so many drafted tokens in a pass, not as papers "
        "and --search set it; of several numbers each is a lane of its own",
    )
    _add_max_tokens(bench)
    _add_target(bench)
    _add_loading(bench)
    _add_heads(bench)
    _add_json(bench)


def _add_report(commands: argparse._SubParsersAction[_Parser]) -> None:
    report = _command(
        commands,
        "report",
        "put the result of a bench into README.md and draw it to docs/bench.svg",
        "python -m glance report bench.json",
    )
    report.add_argument("file", metavar="FILE", type=Path, help="a result of bench --json")


def _add_growth(commands: argparse._SubParsersAction[_Parser]) -> None:
    growth = _command(
        commands,
        "growth",
        "measure what a round costs by context length and by node budget",
        "python -m glance growth --image docs/growth.svg",
    )
    _add_written(growth, "--image", "draw it to this SVG file")
    _add_target(growth)
    _add_loading(growth)
    _add_head(growth)
    _add_json(growth)


def _add_bench_gpu(commands: argparse._SubParsersAction[_Parser]) -> None:
    bench = _command(
        commands,
        "bench-gpu",
        "time rounds at the size of Qwen3-VL-2B, 4B and 8B on this GPU, with random weights",
        "python -m glance bench-gpu --out runs/gpu",
    )
    _add_out(bench)
    bench.set_defaults(module="bench_gpu")


def _add_record(commands: argparse._SubParsersAction[_Parser]) -> None:
    record = _command(
        commands,
        "record",
        "answer questions about generated pages and keep a trace of each, for law and replay",
        "python -m glance record --out runs/traces --n 20",
    )
    _add_out(record)
    _add_tasks(record)
    _add_drafter(record, "what decodes")
    _add_per_task(record)
    _add_decoding(record)
    _add_sampling(record)
    _add_target(record)
    _add_loading(record)
    _add_head(record)


def _add_law(commands: argparse._SubParsersAction[_Parser]) -> None:
    law = _command(
        commands,
        "law",
        "fit the entropy law: accepted tokens a round by how sure the target is",
        "python -m glance law runs/traces --json law.json --svg law.svg",
    )
    law.add_argument(
        "traces",
        nargs="+",
        type=Path,
        metavar="TRACES",
        help="traces of one target and drafter, or folders of them: see record",
    )
    _add_written(law, "--svg", "also draw the law and the deciles")
    _add_json(law)


def _add_probe(commands: argparse._SubParsersAction[_Parser]) -> None:
    probe = _command(
        commands,
        "probe",
        "test one of the paper's claims on generated pages; says first what would refute it",
        "python -m glance probe zeroed-states --json zeroed.json",
    )
    probe.add_argument("name", choices=PROBES, metavar="NAME", help=f"of {', '.join(PROBES)}")
    _add_tasks(probe)
    _add_drafter(probe, "what is probed")
    _add_per_task(probe, default=100)
    probe.add_argument(
        "--budget",
        type=_whole(1, 1024),
        default=15,
        metavar="N",
        help="most drafted tokens to check in one pass (default: 15)",
    )
    _add_max_tokens(probe)
    _add_target(probe)
    _add_loading(probe)
    _add_head(probe)
    probe.add_argument(
        "--retrained",
        type=Path,
        metavar="FOLDER",
        help="for retrain-ocr: a second head of the same drafter, trained on with transcriptions",
    )
    _add_json(probe)


def _add_eval(commands: argparse._SubParsersAction[_Parser]) -> None:
    evaluate = _command(
        commands,
        "eval",
        "measure how well the target reads pages it has never seen, or knows where tokens stand",
        "python -m glance eval target --set unseen-faces --n 50 --processes 2",
    )
    evaluate.add_argument(
        "what",
        choices=["target", "grounding"],
        help="target: how many answers are right; grounding: how often the patch that its chosen "
        "attention head looks at is where the token stands",
    )
    evaluate.add_argument(
        "--choose",
        type=_whole(1, 100_000),
        metavar="N",
        help="for grounding: first choose the head on N training pages, and keep the choice beside "
        "the model",
    )
    _add_data_file(evaluate)
    evaluate.add_argument(
        "--set",
        choices=SETS,
        help="test: generated pages; unseen-faces: the same in typefaces that training never saw; "
        "foreign: pages that other programs drew; blank: questions of test pages on blank ones, "
        "where little can be right; pairs: two pages a prompt; scans: real pages, fetched first "
        "(default: test)",
    )
    evaluate.add_argument(
        "--n",
        type=_whole(1, 100_000),
        default=200,
        help="pages, or pairs of them, to read (default: 200); foreign and scans may have fewer",
    )
    evaluate.add_argument("--split", choices=SPLITS, help="of generated pages (default: test)")
    evaluate.add_argument(
        "--processes",
        type=_whole(1, 64),
        default=1,
        metavar="P",
        help="share the pages out among P processes of one thread each (default: 1)",
    )
    _add_target(evaluate)
    _add_loading(evaluate)
    _add_json(evaluate)


def _add_train(commands: argparse._SubParsersAction[_Parser]) -> None:
    train = _command(
        commands,
        "train",
        "train the target or a drafter's head from scratch on generated pages",
        "python -m glance train target --out runs/target --minutes 60",
    )
    train.add_argument(
        "what",
        choices=["target", "head"],
        help="target: the model that answers; head: a drafter for it, trained on its own answers",
    )
    which = train.add_mutually_exclusive_group()
    which.add_argument(
        "--drafter",
        choices=HEADS,
        metavar="NAME",
        help=f"which head to train: {', '.join(HEADS)} (default: glance)",
    )
    which.add_argument(
        "--all",
        action="store_true",
        help="train every head, on the same answers; they share the time evenly",
    )
    train.add_argument("--out", type=Path, metavar="DIR", help="where checkpoints and weights go")
    train.add_argument(
        "--minutes", type=_minutes, default=60.0, metavar="M", help="time to use (default: 60)"
    )
    weights = train.add_mutually_exclusive_group()
    weights.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    weights.add_argument(
        "--start",
        type=Path,
        metavar="FOLDER",
        help="for a head: the finished head to train on from, which keeps its shape and may have "
        "been made for another target of the same width and vocabulary; or OWNER/NAME of one on "
        "the Hugging Face hub, with HF_HUB_OFFLINE=0 set (default: none, that is random weights)",
    )
    train.add_argument(
        "--device",
        choices=["auto", "cpu", "cuda"],
        default="auto",
        help="where to compute (default: cuda if there is one, else cpu)",
    )
    train.add_argument(
        "--layers",
        type=_whole(8, 64),
        metavar="N",
        help="for the target: layers of its text model (default: 8)",
    )
    train.add_argument(
        "--width",
        type=int,
        choices=range(64, 1025, 64),
        metavar="N",
        help="for the target: width of its text model, a multiple of 64 (default: 256; 12 layers "
        "of 512 are 35 million parameters)",
    )
    train.add_argument(
        "--data",
        type=Path,
        metavar="FILE.jsonl",
        help="for a head: learn from the target's answers to these questions, as the command data "
        "writes them, not from generated pages; `accelerate launch -m glance train head` shares "
        "the work among processes",
    )
    train.add_argument(
        "--taps",
        choices=["cached", "online"],
        default="cached",
        help="with --data, the states of the target that a head learns from: cached on disk, or "
        "online, when the target reads each answer again at every step, which takes longer and "
        "hardly any disk (default: cached)",
    )
    train.add_argument(
        "--without",
        choices=PARTS,
        metavar="PART",
        default="",
        help="leave a part of a head's recipe out, to see what it is worth: guide of glance, "
        "eagle3 or eagle2; adaptor or global-vector of vispec; hiding (of image tokens) or "
        "residual of hivis",
    )
    train.add_argument(
        "--draft-layers",
        type=_whole(1, 16),
        metavar="N",
        help="layers of the glance head (default: 3); one that it starts from may have fewer, and "
        "drafts the same at first with the new ones",
    )
    train.add_argument(
        "--rate",
        type=_rate,
        action="append",
        metavar="R",
        default=[],
        help="a learning rate to try for a head, in place of the four that are compared; repeat "
        "it for several. A head that goes on from another one seems best at low ones at first",
    )
    _add_target(train)
    train.set_defaults(target=None)  # only a head has one, so whether it is given counts
    _add_max_pixels(train)


def _add_render(commands: argparse._SubParsersAction[_Parser]) -> None:
    render = _command(
        commands,
        "render",
        "draw document pages with their questions, answers and glyph boxes",
        "python -m glance render --out runs/pages --n 10",
    )
    _add_out(render)
    render.add_argument("--n", type=_whole(1, 100_000), default=10, help="pages (default: 10)")
    render.add_argument("--split", choices=SPLITS, default="test", help="(default: test)")
    render.add_argument(
        "--seed",
        type=_whole(0, 2**31),
        default=0,
        help="number of the first page; a number always gives the same page (default: 0)",
    )


def _add_data(commands: argparse._SubParsersAction[_Parser]) -> None:
    data = _command(
        commands,
        "data",
        "turn a local copy of a public set into one file of questions, for training and eval",
        "python -m glance data docvqa DocVQA/train_v1.0.json --out runs/docvqa.jsonl",
    )
    data.add_argument(
        "set",
        choices=PUBLIC_SETS,
        help="docvqa, chartqa, infovqa: the JSON file that its makers hand out; folder: a text "
        "file with lines IMAGE, tab, QUESTION and perhaps tab, ANSWER, or a folder with one .tsv",
    )
    data.add_argument("source", type=Path, metavar="FILE", help="that file or folder")
    data.add_argument(
        "--images",
        type=Path,
        metavar="DIR",
        help="folder of the images (default: that of FILE; for chartqa the folder png in it)",
    )
    data.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl", help="file to write")
    data.add_argument(
        "--n", type=_whole(1, 100_000_000), metavar="N", help="the first N questions (default: all)"
    )


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    does: str,
    example: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=does,
        description=does[0].upper() + does[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(module=name, written=())
    return parser


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tasks",
        nargs="+",
        choices=TASKS,
        default=TASKS,
        metavar="TASK",
        help=f"what to ask of pages of the test split: {', '.join(TASKS)} (default: all)",
    )


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to fill")


def _add_per_task(parser: argparse.ArgumentParser, default: int = 20) -> None:
    parser.add_argument(
        "--n",
        type=_whole(1, 10_000),
        default=default,
        metavar="PER_TASK",
        help=f"questions a task (default: {default})",
    )


def _add_data_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE.jsonl",
        help="ask the questions of this file, as the command data writes them, not those of "
        "generated pages; processes started by `accelerate launch -m glance` share them",
    )


def _add_drafter(parser: argparse.ArgumentParser, role: str) -> None:
    drafters = [name for name in NAMES if name != PLAIN]
    parser.add_argument(
        "--drafter",
        choices=drafters,
        default="glance",
        metavar="NAME",
        help=f"{role}: {', '.join(drafters)} (default: glance)",
    )


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget",
        type=_budget,
        default=15,
        metavar="N|auto",
        help="most drafted tokens to check in one pass (default: 15); auto chooses for every "
        f"round, {MOST_NODES} at most, from what passes cost on this machine",
    )
    _add_max_tokens(parser)


def _add_max_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-tokens",
        type=_whole(1, 100_000),
        default=256,
        metavar="N",
        help="longest answer in tokens (default: 256)",
    )


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--temperature",
        type=_temperature,
        default=0.0,
        metavar="T",
        help="above 0 every token is a draw from the model's own distribution at this temperature, "
        "whatever is drafted; answers of several drafters are then not compared (default: 0, the "
        "likeliest token)",
    )
    parser.add_argument(
        "--seed",
        type=_whole(0, 2**31),
        default=0,
        help="of the draws: the same drafter and budget draw the same answer again, others one of "
        "the same distribution; record counts it up by one a question (default: 0)",
    )


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        default="embedded",
        metavar="FOLDER",
        help="a model folder instead of the one that ships with this program; or OWNER/NAME of a "
        "model on the Hugging Face hub, with HF_HUB_OFFLINE=0 set",
    )


def _add_loading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dtype",
        choices=["float32", "bfloat16", "float16"],
        help="number format of the target (default: float32, in which answers are identical to "
        "generate(); in the others near ties may differ, and are counted)",
    )
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        help="cpu, cuda, cuda:1, or auto, which spreads the target over all there is "
        "(default: cpu)",
    )
    _add_max_pixels(parser)


def _add_max_pixels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-pixels",
        type=_whole(1, 1 << 30),
        metavar="N",
        help="scale images down to so many (default: the limit of the target's own processor)",
    )


def _add_head(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--head",
        type=Path,
        metavar="FOLDER",
        help="a drafter's head, as train head writes it, instead of the one that ships; or "
        "OWNER/NAME of one on the Hugging Face hub, with HF_HUB_OFFLINE=0 set",
    )


def _add_heads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--head",
        type=_head,
        action=_Heads,
        default={},
        metavar="NAME=FOLDER",
        help="the head of a drafter, as train head writes it, instead of the one that ships, or "
        "OWNER/NAME on the hub with HF_HUB_OFFLINE=0 set; repeat it for others (glance-chain has "
        "that of glance)",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    _add_written(parser, "--json", "also write the result as JSON")


def _add_written(parser: argparse.ArgumentParser, option: str, does: str) -> None:
    """A file that is written at the end; its folder is made before anything else."""
    parser.add_argument(option, type=Path, metavar="FILE", help=does)
    parser.set_defaults(written=(*parser.get_default("written"), option.removeprefix("--")))


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}")
        return value

    parse.__name__ = "whole number"  # argparse names the type so in "invalid ... value"
    return parse


def _budget(text: str) -> NodeBudget:
    try:
        return AUTO if text == AUTO else _whole(1, 1024)(text)
    except (ValueError, argparse.ArgumentTypeError):
        words = f"must be a whole number from 1 to 1024, or {AUTO}"
        raise argparse.ArgumentTypeError(words) from None


def _crop(text: str) -> Crop:
    try:
        left, top, right, bottom = map(float, text.split(","))
    except ValueError:
        words = "must be four numbers with commas between them, such as 0,0,1,0.5"
        raise argparse.ArgumentTypeError(words) from None
    return left, top, right, bottom


def _head(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if name not in HEADS or not equals or not folder:
        raise argparse.ArgumentTypeError(f"must be NAME=FOLDER, NAME one of {', '.join(HEADS)}")
    return name, Path(folder)


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 10:
        raise argparse.ArgumentTypeError("must be a number from 0 to 10")
    return value


_temperature.__name__ = "number"  # argparse names the type so in "invalid ... value"


def _rate(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("must be a number between 0 and 1")
    return value


_rate.__name__ = "number"


def _minutes(text: str) -> float:
    value = float(text)
    if not 0 < value < 100_000:
        raise argparse.ArgumentTypeError("must be a number of minutes above 0")
    return value
