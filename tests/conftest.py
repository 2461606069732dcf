"""Shared by all tests: one thread, so that results and times do not depend on the machine."""

import importlib.util
import os
import sys
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch loads, which this file leaves alone
os.environ.setdefault("HF_HUB_OFFLINE", "1")

#: Playwright is a development extra. Without it `-m browser` finds no test, which is an error.
collect_ignore = [] if importlib.util.find_spec("playwright") else ["browser"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Training takes all cores, and would leave them to the tests that come after it."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
