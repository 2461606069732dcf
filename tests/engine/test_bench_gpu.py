"""bench-gpu on a CPU: the command works, says what it measured, and that its times mean nothing.

Run: python -m pytest tests/engine/test_bench_gpu.py
"""

import json
from itertools import islice

import pytest
import torch

from glance.bench_gpu.measure import TAUS, Measured, Row, cache_bytes
from glance.bench_gpu.scripted import played
from glance.bench_gpu.shapes import FULL, SMALL
from glance.cli.main import main
from glance.engine.engine import Engine, EngineError


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


def test_what_does_not_fit_is_said_and_costs_no_other_shape(tmp_path, monkeypatch, capsys):
    two, four, eight = FULL
    written = tmp_path / "bench_gpu.json"

    def measure(shape, device, _dtype, _setting):
        assert device.type == "cuda"
        if shape is four:
            assert [one["shape"] for one in json.loads(written.read_text())["shapes"]] == [two.name]
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        rows = [Row("ar", 1.0, 2.0, 2.0, {}, 1.0, 0.5)]
        return Measured(shape.name, "bfloat16", 1500, 3000.0, rows, 1.0, 8.0, [])

    monkeypatch.setattr("glance.bench_gpu.measure.measure", measure)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    assert main(["bench-gpu", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    words = f"{four.name} does not fit into the memory of A GPU."
    assert f"\n{words}\n" in said.err
    assert [name for name in (two.name, four.name, eight.name) if f"{name}, bf" in said.out] == [
        two.name,
        eight.name,
    ]
    result = json.loads(written.read_text())
    assert [one["shape"] for one in result["shapes"]] == [two.name, eight.name]
    assert result["left_out"] == [words]
    page = (tmp_path / "bench_gpu.md").read_text()
    assert page.index(f"## {two.name}") < page.index(words) < page.index(f"## {eight.name}")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there it takes minutes, and times count")
def test_an_engine_that_refuses_is_said(tmp_path, monkeypatch, capsys):
    def refuse(*_given):
        raise EngineError("The GPU engine did not work here.")

    monkeypatch.setattr(Engine, "_prepared", refuse)
    assert main(["bench-gpu", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"{SMALL.name} cannot be timed: The GPU engine did not work here.\n" in said
    assert "Traceback" not in said
    assert json.loads((tmp_path / "bench_gpu.json").read_text())["shapes"] == []
