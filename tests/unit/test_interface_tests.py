"""The table of docs/interface-tests.md names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "interface-tests.md"


def test_every_row_has_a_test_or_an_argument_and_every_named_test_exists() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (.+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 54))
    named = set(re.findall(r"`(tests/\S+\.py)::(\w+)`", TABLE.read_text(encoding="utf-8")))
    assert len(named) > 60
    for path, function in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (
            f"{path} has no {function}"
        )
