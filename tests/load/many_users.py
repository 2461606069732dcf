"""Many people at once: python -m tests.load.many_users [USERS SECONDS].

Simulated users ask the shipped model about the shipped pages, 40 of them for five minutes, through
the API: good questions, of which every answer is compared with the one that was given to it alone;
bad ones, which must be refused in words; and some are left in the middle. Printed are the counts,
the memory of the server's process, and the files of visitors that are on its disk three minutes
later.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from gradio_client.utils import QueueError

from tests.load.server import ROOT, Server, running, say

USERS, SECONDS = 40, 300.0
SAMPLES = [ROOT / "assets" / "samples" / f"{name}.png" for name in ("receipt", "form", "letter")]
QUESTIONS = ("What is the total?", "Transcribe the page.")
MOST = 24  # tokens of an answer, so that there are many answers
WARM = 0.2  # of the time, after which memory counts
SWEPT_S = 180  # until the server has deleted what was uploaded
PATIENCE_S = 120  # for the answers that are on their way when the time is over
BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"question": " "}, "no question yet"),
    ({"page": 9}, "There is no page 9"),
    ({"document": handle_file(str(ROOT / "README.md"))}, "not an image"),
    ({"node_budget": 1000}, "between 1 and 63"),
)
Asked = tuple[Path, str]  # a page and a question


@dataclass(slots=True)
class Outcome:
    """What happened to one user, or to all; every wrong answer or word in full."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # share of the time, MB
    left_files: int = 0
    left_runs: int = 0

    @property
    def growth(self) -> float:
        """How much more memory the last tenth of the time holds than the tenth after warm-up."""

        def held(since: float) -> float:
            return median(mb for at, mb in self.memory if since <= at < since + 0.1)

        return held(0.9) / held(WARM) - 1


def simulate(server: Server, users: int = USERS, seconds: float = SECONDS) -> Outcome:
    """Let users ask, each in a thread and as a client of its own."""
    clients = [Client(server.address, verbose=False) for _ in range(users)]
    alone = {asked: _ask(clients[0], asked)["ids"] for asked in product(SAMPLES, QUESTIONS)}
    start = time.monotonic()
    each = [Outcome() for _ in clients]
    threads = [
        threading.Thread(
            target=_visit,
            args=(client, alone, start + seconds, outcome, random.Random(seed)),
            daemon=True,
        )
        for seed, (client, outcome) in enumerate(zip(clients, each, strict=True))
    ]
    for thread in threads:
        thread.start()
    told = Outcome()
    while (share := (time.monotonic() - start) / seconds) < 1:
        told.memory.append((share, server.memory()))
        time.sleep(seconds / 100)
    for thread in threads:
        thread.join(max(0, start + seconds + PATIENCE_S - time.monotonic()))
    for outcome in each:
        told.counts += outcome.counts
        told.wrong += outcome.wrong
    told.counts["users that hang"] = sum(thread.is_alive() for thread in threads)
    time.sleep(SWEPT_S)
    told.left_files = len(server.files())
    health = server.health()
    told.left_runs = health["running"] + health["waiting"]
    return told


def _visit(
    client: Client, alone: dict[Asked, Any], end: float, outcome: Outcome, draw: random.Random
) -> None:
    while time.monotonic() < end:
        asked = draw.choice(list(alone))
        kind = draw.choices(("good", "bad", "left"), (6, 2, 2))[0]
        try:
            if kind == "good":
                same = _ask(client, asked)["ids"] == alone[asked]
                outcome.counts["answers"] += 1
                if not same:
                    outcome.wrong.append(f"another answer than alone to {asked}")
            elif kind == "left":
                _leave(client, asked, outcome)
            else:
                _refused(client, asked, draw, outcome)
        except (AppError, QueueError) as error:  # of runs, of all events
            if "queue is full" in str(error).lower():
                outcome.counts["told that the queue is full"] += 1
                time.sleep(draw.uniform(1, 3))
            else:
                outcome.wrong.append(str(error))
        except Exception as error:
            outcome.wrong.append(repr(error))
        time.sleep(draw.uniform(0, 2))


def _leave(client: Client, asked: Asked, outcome: Outcome) -> None:
    job = client.submit(**_given(asked), api_name="/ask_stream")
    next(iter(job), None)
    job.cancel()
    outcome.counts["left"] += 1


def _refused(client: Client, asked: Asked, draw: random.Random, outcome: Outcome) -> None:
    given, words = draw.choice(BAD)
    try:
        client.predict(**{**_given(asked), **given}, api_name="/ask")
    except AppError as error:
        if words not in str(error):
            raise
        outcome.counts["refused in words"] += 1
    else:
        outcome.wrong.append(f"not refused: {given}")


def _ask(client: Client, asked: Asked) -> dict[str, Any]:
    return client.predict(**_given(asked), api_name="/ask")


def _given(asked: Asked) -> dict[str, Any]:
    page, question = asked
    return {"document": handle_file(str(page)), "question": question, "max_tokens": MOST}


def report(outcome: Outcome) -> list[str]:
    """What happened, line by line."""
    return [
        *(f"{count} {what}" for what, count in sorted(outcome.counts.items())),
        f"{len(outcome.wrong)} wrong {outcome.wrong[:3]}",
        f"memory {outcome.memory[0][1]:.0f} MB at first, {outcome.memory[-1][1]:.0f} MB at last, "
        f"{100 * outcome.growth:+.1f}% since warm-up",
        f"{outcome.left_files} files and {outcome.left_runs} runs left",
    ]


def main() -> None:
    """Run it and print its lines."""
    users, seconds = (int(sys.argv[1]), float(sys.argv[2])) if sys.argv[1:] else (USERS, SECONDS)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        server.wait("ready")
        say(*report(simulate(server, users, seconds)))


if __name__ == "__main__":
    main()
