"""What a round costs by context length and node budget: the command and its picture."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from glance.cli.main import main
from glance.drafters.toy import RandomDrafter
from glance.growth_picture import Plot, draw
from glance.profiling import PassTimes
from tests.tiny_models import target

SVG = "{http://www.w3.org/2000/svg}"


def test_every_line_is_drawn_and_higher_is_slower():
    plots = [
        Plot("first", "tokens", {"low": [(1, 1.0), (4, 2.0)], "high": [(1, 3.0), (4, 6.0)]}),
        Plot("second", "N", {"only": [(3, 2.0), (7, 2.0)]}),
    ]
    root = ElementTree.fromstring(draw(plots, "ms"))
    lines = [line.get("points", "").split() for line in root.iter(f"{SVG}polyline")]
    assert [len(line) for line in lines] == [2, 2, 2]
    low, high, only = ([float(point.split(",")[1]) for point in line] for line in lines)
    assert high[0] < low[0]  # y grows downwards
    assert high[1] < high[0]
    assert only[0] == only[1] == low[1]  # one scale for both plots
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"first", "second", "tokens", "N", "low", "high", "only", "ms"} <= words


def test_the_command_times_every_length_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def passes(_target, _drafter, contexts, nodes, repeats):
        asked.append((contexts, nodes, repeats))
        ms = [[float(length + n) for n in nodes] for length in contexts]
        return PassTimes(tuple(contexts), tuple(nodes), ms, [1.0] * len(contexts))

    tiny = target("qwen3_vl")  # 512 tokens of context
    monkeypatch.setattr("glance.targets.load.load_target", lambda _name: tiny)
    monkeypatch.setattr(
        "glance.drafters.load.load_drafter", lambda *_: RandomDrafter(tiny.vocab_size, seed=0)
    )
    monkeypatch.setattr("glance.cli.growth.CONTEXTS", (128, 256, 4000))
    monkeypatch.setattr("glance.profiling.measure_passes", passes)
    image, file = tmp_path / "growth.svg", tmp_path / "growth.json"
    assert main(["growth", "--image", str(image), "--json", str(file)]) == 0
    (contexts, nodes, repeats), hollow = asked
    assert contexts == [128, 256]
    assert hollow == ((1,), (0,), repeats)
    out = capsys.readouterr().out
    assert "take 1.00 ms: 1% of a plain pass at 128 tokens" in out
    assert re.search(r"^ *256 +256\.00 +1\.00 +259\.00", out, re.MULTILINE)
    result = json.loads(file.read_text())
    assert result["verify_ms"][0] == [128.0 + n for n in nodes]
    assert "provenance" in result
    drawn = ElementTree.fromstring(image.read_text())
    assert len(list(drawn.iter(f"{SVG}polyline"))) == len(nodes) + 2
