"""The API as programs use it: gradio_client and plain HTTP against a page in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from gradio_client.utils import QueueError

from app.api import ENDPOINTS, answered, mcp_offered
from app.by_name import UNKNOWN
from app.session import FULL, Session
from app.troubles import MEMORY
from app.ui import build
from glance.documents.intake import load_document
from glance.trace import parse_trace
from tests.ui.served import served
from tests.ui.test_session import FREED_S, wait_until
from tests.ui.toy_page import draw_page, held_back, toy_runner

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


def begun(address: str, endpoint: str, page: str, question: str) -> str:
    """Where the run is heard that the documentation's commands for curl begin."""
    with Path(page).open("rb") as file:
        (path,) = HTTP.post(f"{address}/gradio_api/upload", files={"files": file}).json()
    uploaded = {"path": path, "meta": {"_type": "gradio.FileData"}}
    body = {"document": uploaded, "question": question}
    event = HTTP.post(f"{address}/gradio_api/call/v2/{endpoint}", json=body).json()["event_id"]
    return f"{address}/gradio_api/call/{endpoint}/{event}"


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


def test_the_stream_is_the_trace_piece_by_piece(page):
    heard = threading.Event()
    updates: list[dict] = []
    with served(lambda: held_back(toy_runner(0.002), heard, 20)) as (address, _):
        job = Client(address, verbose=False).submit(
            handle_file(page), "x" * 80, api_name="/ask_stream"
        )
        for update in job:
            updates.append(update)
            if update["lines"]:
                heard.set()
        kept = HTTP.get(f"{address}/trace/{updates[0]['run']}").text
    assert [updates[0]["phase"], updates[-1]["phase"]] == ["running", "done"]
    assert sum(bool(update["lines"]) for update in updates) > 1
    lines = [line for update in updates for line in update["lines"]]
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


def test_a_page_that_does_not_fit_into_memory_is_told(client, page, monkeypatch):
    def too_large(*_given):
        raise MemoryError

    monkeypatch.setattr("app.api.load_document", too_large)
    with pytest.raises(AppError) as error:
        client.predict(handle_file(page), "hello", api_name="/ask")
    assert MEMORY.text in told(error)


def test_a_caller_does_not_wait_long_for_another_ones_page(client, page, monkeypatch):
    """Ten who wait so would leave no place for the page's own visitors."""
    reading, go_on = threading.Event(), threading.Event()

    def slowly(*given):
        reading.set()
        go_on.wait(60)
        return load_document(*given)

    monkeypatch.setattr("app.api.load_document", slowly)
    monkeypatch.setattr("app.api.PATIENCE", 0.2)
    first = client.submit(handle_file(page), "hello", api_name="/ask")
    assert reading.wait(60)
    with pytest.raises(AppError) as error:
        client.predict(handle_file(page), "hello", api_name="/ask")
    assert "busy" in told(error)
    go_on.set()
    assert first.result()["answers"]["glance"] == "hello"


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
    heard = HTTP.get(begun(server[0], "ask", page, "hello")).text.split("\n")
    assert "event: complete" in heard
    data = heard[heard.index("event: complete") + 1].removeprefix("data: ")
    assert json.loads(data)[0]["answers"]["glance"] == "hello"


@pytest.fixture(scope="module")
def slow() -> Iterator[Server]:
    """A run takes two minutes there."""
    with served(lambda: toy_runner(0.2)) as found:
        yield found


@pytest.mark.parametrize("name", ["/ask", "/ask_stream"])
def test_a_run_that_is_cancelled_frees_its_place(slow, page, name):
    address, session = slow
    client = Client(address, verbose=False)
    job = client.submit(handle_file(page), "x" * 500, api_name=name)
    next(iter(job))
    assert session.health()["running"] == 1
    job.cancel()
    wait_until(lambda: not session.health()["running"], FREED_S)


@pytest.mark.parametrize("endpoint", ["ask", "ask_stream"])
def test_a_caller_who_leaves_frees_the_place(slow, page, endpoint):
    """As a program does that is killed: its connection ends, and nothing is cancelled."""
    address, session = slow
    with HTTP.stream("GET", begun(address, endpoint, page, "x" * 500)) as heard:
        assert next(heard.iter_lines()) == "event: generating"
        assert session.health()["running"] == 1
    wait_until(lambda: not session.health()["running"], FREED_S)


def test_the_tool_has_its_name_and_the_stream_is_none():
    demo = build(Session(lambda: toy_runner()), ())
    public = {each.api_name: each.fn for each in demo.fns.values() if each.api_name in ENDPOINTS}
    assert public["ask"].__name__ == "ask_document"
    assert not hasattr(public["ask"], "_mcp_type")
    assert public["ask_stream"]._mcp_type == "none"


@pytest.mark.parametrize("way", ["call", "call/v2", "run", "api"])
def test_by_name_nothing_else_can_be_called(server, way):
    """Of the page's own events the names are known to who reads its configuration."""
    events = HTTP.get(f"{server[0]}/config").json()["dependencies"]
    names = {event["api_name"] for event in events} - set(ENDPOINTS)
    assert len(names) > 10
    for name in names:
        answer = HTTP.post(f"{server[0]}/gradio_api/{way}/{name}", json={"data": []})
        assert (answer.status_code, answer.json()) == (404, UNKNOWN)


def test_no_run_is_begun_past_the_queue(server):
    """Gradio has addresses that answer at once, whoever waits."""
    events = HTTP.get(f"{server[0]}/config").json()["dependencies"]
    body = {"data": [None, "hello", 1, "glance", True, 15, 8]}
    for endpoint in ENDPOINTS:
        assert HTTP.post(f"{server[0]}/gradio_api/run/{endpoint}", json=body).status_code == 404
    for event in events:
        if event["queue"]:
            numbered = {**body, "fn_index": event["id"]}
            answer = HTTP.post(f"{server[0]}/gradio_api/run/predict", json=numbered)
            assert answer.status_code == 404


def test_a_full_queue_of_gradio_s_own_is_told_in_the_page_s_words(monkeypatch, page):
    monkeypatch.setattr("app.ui.MAX_QUEUED", 0)
    with served(lambda: toy_runner()) as (address, _):
        body = {"data": [None, "hello", 1, "glance", True, 15, 8]}
        answer = HTTP.post(f"{address}/gradio_api/call/ask", json=body)
        with pytest.raises(
            QueueError, match="Queue is full"
        ):  # the client's own words, for any 503
            Client(address, verbose=False).predict(handle_file(page), "hello", api_name="/ask")
    assert (answer.status_code, answer.json()) == (503, {"detail": FULL.text})


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
