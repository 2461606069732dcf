"""Forty users at once for five minutes, against the page as it is shipped.

Run: python -m pytest -n 0 -m slow tests/load, on a machine that does nothing else
"""

import pytest

from tests.load.many_users import USERS, report, simulate
from tests.load.server import running, say


@pytest.mark.slow
def test_forty_users_for_five_minutes(tmp_path, capsys):
    """Every answer as if it were alone, memory that stays, nothing left behind."""
    with running(tmp_path) as server:
        server.wait("ready")
        outcome = simulate(server)
    with capsys.disabled():
        say("", *report(outcome))
    assert outcome.wrong == []
    assert outcome.counts["users that hang"] == 0
    for kind in ("answers", "left", "refused in words"):
        assert outcome.counts[kind] >= USERS / 2
    assert outcome.growth < 0.05
    assert outcome.left_files == 0
    assert outcome.left_runs == 0
