"""How soon a place is free again: python -m tests.load.freed [RUNS].

Runs of the shipped model are stopped, or their connection is closed as a tab's is, at a random
moment while they read or decode. Printed are the median and the longest time until the server has
no run any more. Ends with 1 where a time is over its limit.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import httpx

from tests.load.server import ROOT, Server, running, say

RUNS = 20  # of each way to leave
PAGE = ROOT / "assets" / "samples" / "letter.png"
LATEST_S = 1.0  # after a run began, it is left; it goes on for longer
PATIENCE_S = 60
LIMITS = {"Stop": 0.5, "a closed tab": 2.0}  # seconds


def measure(server: Server, runs: int = RUNS) -> dict[str, list[float]]:
    """Seconds until the place was free, by how the run was left."""
    draw = random.Random(0)
    with httpx.Client(base_url=server.address, timeout=PATIENCE_S) as http:
        with PAGE.open("rb") as file:
            (path,) = http.post("/gradio_api/upload", files={"files": file}).json()
        events = http.get("/config").json()["dependencies"]
        (event,) = (each["id"] for each in events if each["api_name"] == "ask_stream")
        page = {"path": path, "meta": {"_type": "gradio.FileData"}}
        data = [page, "Transcribe the page.", 1, "glance", True, 15, 512]
        taken: dict[str, list[float]] = {way: [] for way in LIMITS}
        for number in range(runs):
            for way, times in taken.items():
                body = {"data": data, "fn_index": event, "session_hash": f"{way} {number}"}
                times.append(_left(http, body, way, draw.uniform(0, LATEST_S)))
    return taken


def _left(http: httpx.Client, body: dict, way: str, after: float) -> float:
    """Begin a run, leave it, and wait until it has ended."""
    joined = http.post("/gradio_api/queue/join", json=body).json()
    address = f"/gradio_api/queue/data?session_hash={body['session_hash']}"
    with http.stream("GET", address) as heard:
        lines = heard.iter_lines()  # as long as it is held, so is the connection
        while '"process_generating"' not in next(lines):
            pass
        time.sleep(after)
        if http.get("/health").json()["running"] != 1:
            raise RuntimeError("the run ended before it was left")
        left = time.monotonic()
        if way == "Stop":
            http.post("/gradio_api/cancel", json={**body, **joined})
    return _free(http) - left


def _free(http: httpx.Client) -> float:
    """When there was no run any more.

    Raises:
        RuntimeError: it goes on for longer than anyone would wait.
    """
    end = time.monotonic() + PATIENCE_S
    while http.get("/health").json()["running"]:
        if time.monotonic() > end:
            raise RuntimeError("the run goes on")
        time.sleep(0.01)
    return time.monotonic()


def report(taken: dict[str, list[float]]) -> list[str]:
    """A line for each way to leave."""
    return [
        f"{way}: free after {median(times):.2f} s, at most {max(times):.2f} s of {LIMITS[way]:.1f}"
        for way, times in taken.items()
    ]


def main() -> int:
    """Measure, print, and judge."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        server.wait("ready")
        taken = measure(server, runs)
    say(*report(taken))
    return int(any(max(times) > LIMITS[way] for way, times in taken.items()))


if __name__ == "__main__":
    sys.exit(main())
