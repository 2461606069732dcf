"""Programs that read strangers' files in a process of their own, with a time limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from glance.documents.intake.document import DocumentError


def read_apart(
    program: Path,
    numbers: tuple[int, ...],  # its arguments
    data: bytes,  # of the file, for its standard input
    seconds: float,
    *,
    endless: str,
    failed: str,
) -> tuple[dict[str, Any], bytes]:
    """What the program tells of the file, a line of JSON, and the bytes after that line.

    Raises:
        DocumentError: it took too long (`endless`) or ended with an error (`failed`).
    """
    command = [sys.executable, "-P", str(program), *map(str, numbers)]
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise DocumentError(endless) from error
    if done.returncode:
        raise DocumentError(failed)
    head, _, rest = done.stdout.partition(b"\n")
    return json.loads(head), rest
