"""The trace: what happened, one JSON object a line. Knows the format, not the decoder. No torch.

Every line has `kind`, `run`, `seq`; a lane's lines have `lane`, `t` (ms since the lane's decode
window opened) and, where a verb took time, `ms`; a round's lines have `r`, counted from 1.

    header    first: schema, created, lanes, target, drafter, settings, prompt, image, sample,
              provenance
    prefill   root {id, text, start, end, h, margin}, top, cache, reused, saved
    draft     size, h_draft (nats, per offset), drafter_passes
    build     tree {parent, id, text, p_draft, rank}: parallel arrays, node 0 = root; node_budget
              (of the settings; where they say "auto", the number of nodes that was chosen)
    verify    posterior (the target's argmax id), p_target (of the node's token), h (nats): per node
    accept    verdict {path, bonus {id, text}}
    commit    tokens [{id, start, end, origin, corrected?, h, margin, top}], text, cache, other
    finish    reason, tokens, rounds, target_passes, tau, tau_without_last, partial, tok_s, ms, ...;
              uncertified: tokens of a margin inside twice header.target.bound, where that is given
    compare   lanes, state, equal, of, at, ids, gap, dtype; at temperature 0 only
    grounding copy [{tokens [from, to), boxes, source, confidence, approximate}]: what of the answer
              was found on the page; head {layer, head, row}; gain, box, share: per token
    notice    level, code, text; one about a lane's drafter has lane and t, too

`header.sample` is null for a file; of a generated page it has split, index, task, type (what is
asked for), history [[question, answer]] and degradations [{name, level (0 to 1)}].

`header.prompt.history` [[question, answer]], oldest first, is there only for a follow-up. `reused`
of its prefill says how many of the `cache` rows of the prompt were taken from the prefill of the
question before, and not read again; 0, or absent in older traces, for a first question. `saved`
is the ms that reading them took when they were new.

`image` of the header is the page that was asked about; `second_image`, of the same fields, is there
only for a question about two.

`image.bytes` of the header is there only if the reader asked for it: a picture of the page, as a
`data:` URL in base64.

`settings.costs` is the cost profile behind a `node_budget` of "auto", so that the run can be had
again, and null for a fixed one. Where several lanes draft, it is that of the first, and
`settings.lane_costs` has the profile of each by name; in older traces all lanes had the first's.

A token's `gain` is log p(token | page) - log p(token | blank page), in nats; `box` is the image
patch that `head` looks at most for it, `share` how much of the attention goes there. These two and
`head` are null where tokens have no places. Boxes are [x0, y0, x1, y1] in fractions of the page.

`top` is a list of [id, text, probability], best first; `h` is entropy in nats; `margin` is the
logit gap between the target's first and second choice. These and `p_target` are of temperature 1,
whatever `settings.temperature` is; above 0 the verdict follows draws, not `posterior`.
`start`/`end` are character offsets into the answer. The answer is the prefill root's text followed
by every commit's text.
"""

from __future__ import annotations

import json
import math
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from glance.machine import machine

#: changes in the commit that changes a field
SCHEMA = 1

LANE_KINDS = ("prefill", "draft", "build", "verify", "accept", "commit", "finish", "grounding")
KINDS = ("header", *LANE_KINDS, "compare", "notice")

Line = dict[str, Any]

#: all that reading the fields of a damaged trace was seen to raise: numbers may be of any size
DAMAGE = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class TraceError(ValueError):
    """The text is no trace that can be read; the message is one plain sentence."""


def dumps(line: Line) -> str:
    """One line of JSON without its newline, every character as itself."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_trace(source: str | Path) -> list[Line]:
    """Read a trace from a path, or from its text when `source` is a string that starts with `{`.

    Raises:
        TraceError: not a trace, or of a later schema.
    """
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return parse_trace(source)
    try:
        text = Path(source).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TraceError(f"The trace could not be opened: {_reason(error)}.") from error
    return parse_trace(text)


def parse_trace(text: str) -> list[Line]:
    """A trace from its text, whatever that is: a stranger's text is never taken for a path.

    Unknown kinds become a notice; so does a last line that was cut off while it was written.

    Raises:
        TraceError: not a trace, or of a later schema.
    """
    rows = [(n, row) for n, row in enumerate(text.split("\n"), start=1) if row.strip()]
    if not rows:
        raise TraceError("The trace is empty.")
    lines: list[Line] = []
    for number, row in rows:
        line = _parse(row)
        if line is None:
            if lines and number == rows[-1][0]:
                lines.append(_notice(lines, "cut-short", "The last line of the trace was cut off."))
                break
            raise TraceError(f"Line {number} of the trace is not a JSON object with a kind.")
        if not lines:
            _check_header(line)
        _check_place(line, number)
        if line["kind"] == "grounding" and not _fits(line, lines):
            raise TraceError(
                f"Line {number} of the trace grounds other tokens than those of its answer."
            )
        if line["kind"] not in KINDS:
            text = f"Skipped a record of unknown kind {line['kind']!r}."
            line = _notice([line], "unknown-kind", text)
        lines.append(line)
    return lines


def _parse(row: str) -> Line | None:
    try:
        line = json.loads(row, parse_constant=_refuse, parse_float=_finite)
        if "\\ud" in row.lower():  # perhaps half a character, spelled out: no text can hold it
            line = json.loads(dumps(line).encode("utf-8", "replace"))
    except (ValueError, RecursionError):  # RecursionError: brackets nested without end
        return None
    return line if isinstance(line, dict) and isinstance(line.get("kind"), str) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        _refuse(digits)
    return value


def _check_header(line: Line) -> None:
    if line["kind"] != "header":
        raise TraceError("The trace does not begin with a header, so it is not a GLANCE trace.")
    schema = line.get("schema")
    if not isinstance(schema, int):
        raise TraceError("The header of the trace names no schema number.")
    if schema > SCHEMA:
        raise TraceError(
            f"The trace has schema {schema}; this version of GLANCE reads schemas up to {SCHEMA}."
        )


def _check_place(line: Line, number: int) -> None:
    if not (isinstance(line.get("lane", ""), str) and isinstance(line.get("r", 1), int)):
        raise TraceError(f"Line {number} of the trace does not name its lane and round rightly.")


@contextmanager
def whole_lines() -> Iterator[None]:
    """For what reads the fields of a trace: a line that lacks some ends it in a TraceError."""
    try:
        yield
    except TraceError:
        raise
    except DAMAGE as error:
        raise TraceError("The trace is damaged: a line lacks some of its fields.") from error


def _fits(grounding: Line, lines: Sequence[Line]) -> bool:
    """Whether a grounding line has an entry a token of its lane's answer, which stands in `lines`.

    Lines of older traces have no entries for tokens.
    """
    own = [line for line in lines if line.get("lane") == grounding.get("lane")]
    committed = [line.get("tokens") for line in own if line["kind"] == "commit"]
    tokens = sum(line["kind"] == "prefill" for line in own)
    tokens += sum(len(some) for some in committed if isinstance(some, list))
    columns = [grounding.get(name) for name in ("gain", "box", "share")]
    return all(
        column is None or (isinstance(column, list) and len(column) == tokens) for column in columns
    )


def _notice(lines: list[Line], code: str, text: str) -> Line:
    last = lines[-1]
    common = {"run": last.get("run"), "seq": last.get("seq")}
    return {"kind": "notice", **common, "level": "warning", "code": code, "text": text}


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "bad file name"


@cache
def _git_sha() -> str:
    """Of the commit, with -dirty where files of it were changed since."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():  # an installed copy must not report a repository above it
        return ""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _command() -> str:
    program, *arguments = sys.argv or [""]
    name = Path(program).name
    called = ["python", "-m", "glance"] if name == "__main__.py" else [name]
    return shlex.join([*called, *arguments])


def provenance() -> dict[str, Any]:
    """Where a trace comes from: machine, git sha, versions and the command line."""
    versions = {"python": platform.python_version()}
    for package in ("torch", "transformers", "numpy", "pillow"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "machine": machine(),
        "git": _git_sha(),
        "versions": versions,
        "command": _command(),
    }
