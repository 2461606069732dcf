"""The tool as a model's program calls it, over MCP.

pip install -e ".[mcp]" && python -m pytest -n 0 tests/ui/test_mcp.py

Without the extra the page offers no tool, and every test is skipped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.ui.served import served
from tests.ui.toy_page import draw_page, toy_runner

pytest.importorskip("mcp", reason="the extra mcp is not installed")

ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(lambda: toy_runner(0.0)) as (found, _):
        yield f"{found}/gradio_api/mcp/"


def called(address: str, method: str, **params: Any) -> dict[str, Any]:
    """The result of one call, each of which stands for itself."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    told = httpx.post(address, json=body, headers=ACCEPT, timeout=60).text
    (data,) = [line for line in told.splitlines() if line.startswith("data: ")]
    return json.loads(data.removeprefix("data: "))["result"]


def test_there_is_one_tool_with_the_inputs_of_ask(address):
    (tool,) = called(address, "tools/list")["tools"]
    assert tool["name"] == "ask_document"
    assert tool["description"].startswith("Answer a question about a document image")
    inputs = tool["inputSchema"]
    assert inputs["required"] == ["document", "question"]
    assert set(inputs["properties"]) == {
        *inputs["required"],
        *("page", "drafter", "compare", "node_budget", "max_tokens"),
    }
    assert all(each["description"] for each in inputs["properties"].values())


def test_the_tool_answers(address, tmp_path):
    draw_page(tmp_path / "page.png", "Total 48.20")
    page = base64.b64encode((tmp_path / "page.png").read_bytes()).decode()
    given = {"document": f"data:image/png;base64,{page}", "question": "hello there"}
    (told,) = called(address, "tools/call", name="ask_document", arguments=given)["content"]
    assert "'answers': {'glance': 'hello there', 'ar': 'hello there'}" in told["text"]
