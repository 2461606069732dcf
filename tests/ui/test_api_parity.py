"""The page and the command line answer alike, with the shipped model."""

from __future__ import annotations

import json
from pathlib import Path

from gradio_client import Client, handle_file

from app.api import answered
from app.session import load_runner
from glance.cli.main import main
from glance.trace import parse_trace
from tests.ui.served import served

SAMPLE = Path(__file__).parents[2] / "assets" / "samples" / "receipt.png"


def test_the_page_and_the_command_line_answer_alike(tmp_path):
    """The shipped model: the same ids, trees and verdicts at the same budget."""
    question = "What is the total?"
    trace = tmp_path / "trace.jsonl"
    asked = ["ask", str(SAMPLE), question, "--budget", "15", "--max-tokens", "24"]
    assert main([*asked, "--trace", str(trace)]) == 0
    written = answered(parse_trace(trace.read_text(encoding="utf-8")))
    with served(load_runner) as (address, _):
        client = Client(address, verbose=False)
        given = {"document": handle_file(str(SAMPLE)), "question": question, "max_tokens": 24}
        result = client.predict(**given, node_budget=15, api_name="/ask")
    assert result["rounds"]["glance"]
    for part in ("answers", "ids", "rounds"):
        assert result[part] == json.loads(json.dumps(written[part])), part
    assert result["image"]["sha256"] == written["image"]["sha256"]
