"""bench-gpu on a CPU: the command works, says what it measured, and that its times mean nothing.

Run: python -m pytest tests/engine/test_bench_gpu.py
"""

import json
from itertools import islice

import pytest
import torch

from glance.bench_gpu.measure import TAUS, cache_bytes
from glance.bench_gpu.scripted import played
from glance.bench_gpu.shapes import FULL, SMALL
from glance.cli.main import main


@pytest.mark.parametrize("tau", TAUS)
def test_a_script_plays_its_tau_back(tau):
    rounds = list(islice(played(tau), 100))
    assert sum(rounds) == round(100 * tau)
    assert set(rounds) <= {int(tau), int(tau) + 1}


def test_shapes_are_the_published_ones():
    two, four, eight = FULL
    assert eight.taps == (1, 9, 17, 25, 33)
    assert two.taps == (1, 7, 13, 19, 25)
    assert (two.tied, four.tied, eight.tied) == (True, True, False)
    assert cache_bytes(eight, 1, torch.bfloat16) == 147_456


@pytest.mark.skipif(torch.cuda.is_available(), reason="there it takes minutes, and times count")
def test_the_command_on_a_cpu(tmp_path, capsys):
    assert main(["bench-gpu", "--out", str(tmp_path / "new")]) == 0
    result = json.loads((tmp_path / "new" / "bench_gpu.json").read_text(encoding="utf-8"))
    assert not result["means_anything"]
    [shape] = result["shapes"]
    assert shape["shape"] == SMALL.name
    assert shape["notices"] == []
    lanes = [row["lane"] for row in shape["rows"]]
    assert lanes == ["ar", "generate()", *["glance"] * len(TAUS)]
    for row, tau in zip(shape["rows"][2:], TAUS, strict=True):
        assert row["tau"] == pytest.approx(tau, abs=0.2)
        assert all(ms >= 0 for ms in row["stages"].values())
        # a busy machine may pause between two readings; a fake clock has exact sums elsewhere
        assert 0 < sum(row["stages"].values()) <= 1.01 * row["whole"]
        assert row["token"] * row["tau"] == pytest.approx(row["whole"], rel=0.02)
    assert shape["rows"][0]["speedup"] == 1.0
    words = capsys.readouterr().out
    assert "its times mean nothing" in words
    assert "its times mean nothing" in (tmp_path / "new" / "bench_gpu.md").read_text()
