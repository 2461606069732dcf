"""The API as programs use it: gradio_client and plain HTTP against a page in this process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from app.api import answered, mcp_offered
from app.session import Session
from glance.trace import parse_trace
from tests.ui.served import served
from tests.ui.toy_page import draw_page, toy_runner

SAMPLE = Path(__file__).parents[2] / "assets" / "samples" / "receipt.png"
HTTP = httpx.Client(timeout=60)
Server = tuple[str, Session]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(lambda: toy_runner(0.002)) as found:
        yield found


@pytest.fixture(scope="module")
def client(server) -> Client:
    return Client(server[0], verbose=False)


@pytest.fixture
def page(tmp_path) -> str:
    draw_page(tmp_path / "page.png", "Total 48.20")
    return str(tmp_path / "page.png")


def told(error: pytest.ExceptionInfo) -> str:
    return str(error.value)


def test_two_endpoints_are_public_with_names_types_and_defaults(client):
    endpoints = client.view_api(print_info=False, return_format="dict")["named_endpoints"]
    assert sorted(endpoints) == ["/ask", "/ask_stream"]
    for endpoint in endpoints.values():
        assert endpoint["description"]
        given = {each["parameter_name"]: each for each in endpoint["parameters"]}
        types = {name: each["python_type"]["type"] for name, each in given.items()}
        assert "'glance'" in types.pop("drafter")
        assert types == {
            "document": "filepath",
            "question": "str",
            "page": "int",
            "compare": "bool",
            "node_budget": "int",
            "max_tokens": "int",
        }
        needed = [name for name, each in given.items() if not each["parameter_has_default"]]
        assert needed == ["document", "question"]
        assert {each["component"] for each in endpoint["returns"]} == {"Json"}


def test_ask_answers_and_its_trace_is_there_by_run_id(server, client, page):
    result = client.predict(handle_file(page), "hello there", api_name="/ask")
    assert result["answers"] == {"glance": "hello there", "ar": "hello there"}
    assert result["compare"][0]["state"] == "equal"
    found = HTTP.get(f"{server[0]}/trace/{result['run']}")
    assert found.headers["content-type"].startswith("application/x-ndjson")
    assert found.headers["content-disposition"].startswith("attachment")
    assert json.loads(json.dumps(answered(parse_trace(found.text)))) == result


def test_the_stream_is_the_trace_piece_by_piece(server, client, page):
    job = client.submit(handle_file(page), "x" * 80, api_name="/ask_stream")
    updates = list(job)
    assert [updates[0]["phase"], updates[-1]["phase"]] == ["running", "done"]
    assert sum(bool(update["lines"]) for update in updates) > 1
    lines = [line for update in updates for line in update["lines"]]
    kept = HTTP.get(f"{server[0]}/trace/{updates[0]['run']}").text
    assert lines == parse_trace(kept)


def test_one_lane_alone_is_not_compared(client, page):
    result = client.predict(handle_file(page), "hello", compare=False, api_name="/ask")
    assert list(result["ids"]) == ["glance"]
    assert result["compare"] == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"question": " "}, "no question yet"),
        ({"question": 5}, "must be text"),
        ({"question": "x" * 2001}, "2,001 characters"),
        ({"document": None}, "no document yet"),
        ({"page": 3}, "There is no page 3"),
        ({"page": 1.5}, "The page must be a whole number"),
        ({"page": True}, "The page must be a number"),
        ({"drafter": "random"}, "The drafter must be one of: glance"),
        ({"node_budget": 64}, "between 1 and 63"),
        ({"node_budget": "auto"}, "The node budget must be a number"),
        ({"max_tokens": 513}, "between 1 and 512"),
        ({"max_tokens": None}, "The number of tokens must be a number"),
    ],
)
def test_bad_input_is_refused_in_words(client, page, given, words):
    good = {"document": handle_file(page), "question": "hello"}
    with pytest.raises(AppError) as error:
        client.predict(**{**good, **given}, api_name="/ask")
    assert words in told(error)


def test_a_file_that_is_no_page_is_refused_in_words(client, tmp_path):
    (tmp_path / "page.png").write_text("<html>")
    with pytest.raises(AppError) as error:
        client.predict(handle_file(str(tmp_path / "page.png")), "hello", api_name="/ask_stream")
    assert "not an image" in told(error)


@pytest.mark.parametrize("meta", [{}, {"meta": {"_type": "gradio.FileData"}}])
def test_a_caller_cannot_name_a_file_of_the_server(server, meta):
    """The sample is a readable page on this machine: only the check can keep it back."""
    body = {"data": [{"path": str(SAMPLE), **meta}, "hello", 1, "glance", True, 15, 8]}
    started = HTTP.post(f"{server[0]}/gradio_api/call/ask", json=body)
    if started.status_code == 200:
        address = f"{server[0]}/gradio_api/call/ask/{started.json()['event_id']}"
        heard = HTTP.get(address).text
        assert heard.startswith("event: error")
        assert "receipt" not in heard


def test_the_commands_of_the_documentation_work_over_plain_http(server, page):
    address = f"{server[0]}/gradio_api"
    with Path(page).open("rb") as file:
        (path,) = HTTP.post(f"{address}/upload", files={"files": file}).json()
    uploaded = {"path": path, "meta": {"_type": "gradio.FileData"}}
    body = {"document": uploaded, "question": "hello"}
    event = HTTP.post(f"{address}/call/v2/ask", json=body).json()["event_id"]
    heard = HTTP.get(f"{address}/call/ask/{event}").text.split("\n")
    assert "event: complete" in heard
    data = heard[heard.index("event: complete") + 1].removeprefix("data: ")
    assert json.loads(data)[0]["answers"]["glance"] == "hello"


def test_cancelling_a_stream_frees_its_place(page):
    with served(lambda: toy_runner(0.05)) as (address, session):
        client = Client(address, verbose=False)
        job = client.submit(handle_file(page), "x" * 500, api_name="/ask_stream")
        next(iter(job))
        assert session.health()["running"] == 1
        job.cancel()
        start = time.monotonic()
        while session.health()["running"]:
            assert time.monotonic() - start < 2, "the run went on"
            time.sleep(0.02)


def test_a_run_that_is_gone_is_not_found(server):
    found = HTTP.get(f"{server[0]}/trace/0123456789ab")
    assert found.status_code == 404
    assert "ten minutes" in found.json()["error"]


def test_the_log_says_why_there_is_no_tool(monkeypatch, caplog):
    caplog.set_level("INFO", "app.api")
    monkeypatch.setattr("app.api.find_spec", lambda _: None)
    assert not mcp_offered()
    assert "gradio[mcp]" in caplog.text
    monkeypatch.setattr("app.api.find_spec", lambda name: name)
    assert mcp_offered()


def test_health_counts_and_names_nothing(server):
    found = HTTP.get(f"{server[0]}/health")
    assert found.status_code == 200
    value = found.json()
    assert value.pop("up_s") > 0
    assert value == {"model": "ready", "running": 0, "waiting": 0, "most_waiting": 8}


def test_health_says_when_there_is_no_model():
    def missing():
        raise FileNotFoundError

    with served(missing) as (address, _):
        found = HTTP.get(f"{address}/health")
        assert (found.status_code, found.json()["model"]) == (503, "missing")
