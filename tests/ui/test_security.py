"""The page as a stranger on the network may use it: files, paths, headers, private events.

Run: python -m pytest tests/ui/test_security.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from app.headers import HEADERS
from app.static_files import PLOTLY_JS, STATIC
from app.ui import launch_options
from tests.ui.served import served
from tests.ui.toy_page import toy_runner

ROOT = Path(__file__).parents[2]
SCRIPT = STATIC / "core.js"
META = {"_type": "gradio.FileData"}
CLIENT = httpx.Client(timeout=120)


@pytest.fixture(scope="module")
def uploads(tmp_path_factory) -> Iterator[Path]:
    """Where this page's server puts what is uploaded."""
    folder = tmp_path_factory.mktemp("uploads")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def url(uploads) -> Iterator[str]:  # noqa: ARG001 - the server is told of its folder by then
    with served(lambda: toy_runner(0.0)) as (address, _):
        yield address


@pytest.fixture
def private(tmp_path) -> Path:
    """A picture on the server's disk that nobody uploaded."""
    path = tmp_path / "private.png"
    Image.new("RGB", (300, 200), "white").save(path)
    return path


def events(url: str) -> list[tuple[int, list[str]]]:
    """The events that take a file: number, and the types of their inputs."""
    config = CLIENT.get(f"{url}/config").json()
    types = {each["id"]: each["type"] for each in config["components"]}
    found = [(fn["id"], [types[i] for i in fn["inputs"]]) for fn in config["dependencies"]]
    return [each for each in found if {"file", "uploadbutton"} & set(each[1])]


def called(url: str, event: int, data: list) -> str:
    """All that an event answers, as the page's own script would call it."""
    body = {"data": data, "fn_index": event, "session_hash": "stranger", "event_data": None}
    joined = CLIENT.post(f"{url}/gradio_api/queue/join", json=body)
    if joined.status_code != 200:
        return joined.text
    address = f"{url}/gradio_api/queue/data?session_hash=stranger"
    told = ""
    with CLIENT.stream("GET", address) as stream:
        for line in stream.iter_lines():
            told += line + "\n"
            if '"process_completed"' in line or '"close_stream"' in line:
                break
    return told


def completed(told: str) -> dict:
    messages = [json.loads(line[6:]) for line in told.splitlines() if line.startswith("data: ")]
    return next(each for each in messages if each["msg"] == "process_completed")


def inputs(types: list[str], file: object) -> list:
    """Data of an event: the file, and what the API asks for beside it."""
    filled = {"textbox": "What?", "number": 1, "radio": "ar", "checkbox": False}
    return [file if each in ("file", "uploadbutton") else filled.get(each) for each in types]


def test_every_event_that_takes_a_file_is_looked_at(url):
    # a trace is opened beside the page that is held, the API has a question and settings
    kinds = sorted("api" if len(types) > 2 else types[0] for _, types in events(url))
    assert kinds == ["api", "api", "file", "uploadbutton"]


def test_an_upload_cannot_name_a_path_of_the_server(url, uploads, private):
    dotted = f"{uploads}/../{private.parent.name}/{private.name}"
    files = [{"path": str(path), "meta": META} for path in (private, dotted, "/etc/passwd")]
    files += [{"path": str(private)}, {"path": str(private), "meta": {"_type": "x"}}]
    for event, types in events(url):
        for file in files:
            told = called(url, event, inputs(types, file))
            answer = completed(told)
            assert answer["success"] is False
            # Ids and times beside the output hold any digits, the width's too.
            assert "300" not in json.dumps(answer["output"])
            for secret in ("image/webp", "root:", str(private)):
                assert secret not in told
    assert private.exists()


@pytest.mark.parametrize("path", [SCRIPT, PLOTLY_JS], ids=lambda path: path.name)
def test_files_that_everyone_gets_are_no_uploads_and_stay(url, path):
    size = path.stat().st_size
    for event, types in events(url):
        told = called(url, event, inputs(types, {"path": str(path), "meta": META}))
        assert "GLANCE" not in told
        assert "Plotly" not in told
    assert path.stat().st_size == size


def test_an_address_inside_the_network_is_not_fetched(url):
    for event, types in events(url):
        for inner in (url, "http://169.254.169.254/latest/meta-data"):
            told = called(url, event, inputs(types, {"path": inner, "meta": META}))
            assert completed(told)["success"] is False
            assert "<html" not in told.lower()


def test_a_file_that_was_uploaded_is_read_and_gone(url, uploads, private):
    [event] = [event for event, types in events(url) if types == ["file"]]
    with private.open("rb") as file:
        [path] = CLIENT.post(f"{url}/gradio_api/upload", files={"files": file}).json()
    assert Path(path).is_relative_to(uploads)
    answer = completed(called(url, event, [{"path": path, "meta": META}]))
    assert answer["success"]
    assert json.loads(answer["output"]["data"][1])["width"] == 300
    assert not Path(path).exists()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        ROOT / "app" / "session.py",
        ROOT / "app" / "templates.py",
        ROOT / "pyproject.toml",
        ROOT / "assets" / "samples" / "receipt.png",
        f"{STATIC}/../session.py",
        f"{STATIC}/%2e%2e/session.py",
        f"{STATIC}/..%2fsession.py",
        f"{STATIC}/nothing.js",
        "app/session.py",
        ".git",
    ],
    ids=str,
)
def test_no_file_is_served_but_the_pages_own(url, path):
    answer = CLIENT.get(f"{url}/gradio_api/file={path}")
    assert answer.status_code in (403, 404)
    assert "import" not in answer.text


def test_the_pages_own_files_are_served(url):
    assert CLIENT.get(f"{url}/gradio_api/file={SCRIPT}").text == SCRIPT.read_text()
    assert CLIENT.get(f"{url}/gradio_api/file={PLOTLY_JS}").status_code == 200


def test_another_file_in_the_upload_folder_is_never_a_page_of_this_site(url, uploads):
    """What was uploaded by another can be had by who knows its content, but not be run."""
    folder = uploads / "abc"
    folder.mkdir(exist_ok=True)
    for name in ("page.html", "page.svg"):
        (folder / name).write_text("<svg onload=alert(1) xmlns='http://www.w3.org/2000/svg'/>")
        answer = CLIENT.get(f"{url}/gradio_api/file={folder / name}")
        assert answer.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("path", ["/", "/config", "/health", "/gradio_api/file=/etc/passwd"])
def test_browsers_are_told_to_be_strict(url, path):
    headers = CLIENT.get(f"{url}{path}").headers
    assert {name: headers.get(name) for name in HEADERS} == HEADERS


def test_another_site_gets_no_answer_to_read(url):
    answer = CLIENT.get(f"{url}/config", headers={"Origin": "https://evil.example"})
    assert answer.headers.get("access-control-allow-origin") is None


def test_any_event_answers_junk_without_a_word_of_the_server(url):
    """That events are private hides them; whoever reads the page's configuration can call them."""
    dependencies = CLIENT.get(f"{url}/config").json()["dependencies"]
    assert len(dependencies) > 10
    for each in dependencies:
        if each["targets"] and each["targets"][0][1] in ("load", "unload", "tick"):
            continue
        for junk in ({"path": [1]}, -1):
            told = called(url, each["id"], [junk] * len(each["inputs"]))
            for secret in ("Traceback", str(ROOT), "site-packages", "Error:"):
                assert secret not in told, each["api_name"]
    assert CLIENT.get(f"{url}/health").json()["model"] == "ready"


@pytest.mark.parametrize("path", ["/monitoring", "/monitoring/summary", "/gradio_api/runs"])
def test_nothing_of_other_visitors_is_shown(url, path):
    answer = CLIENT.get(f"{url}{path}")
    assert answer.status_code in (403, 404)


def test_no_folder_is_allowed_beside_the_static_ones():
    options = launch_options()
    assert not {"allowed_paths", "blocked_paths", "auth", "share"} & options.keys()
