"""What a start costs, and what there is to watch a server by: python -m tests.load.start_up.

Prints the seconds from the command to the page and to the model that is ready, the memory that the
server's process holds then and after one answer, its health, and what it logged. Ends with 1 where
the model was not ready in time, the memory is over its limit, or the log names what was asked.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from gradio_client import Client, handle_file

from tests.load.server import ROOT, running, say

PAGE = ROOT / "assets" / "samples" / "receipt.png"
QUESTION = "What is the total?"
READY_S = 20
MOST_MB = 2000


def main() -> int:
    """Start, measure, ask once, measure."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        say(f"page answers after {server.wait(''):.1f} s")
        ready = server.wait("ready")
        say(f"model ready after {ready:.1f} s of {READY_S}, {server.memory():.0f} MB resident")
        client = Client(server.address, verbose=False)
        client.predict(handle_file(str(PAGE)), QUESTION, api_name="/ask")
        memory = server.memory()
        say(f"after one answer {memory:.0f} MB of {MOST_MB}")
        say(f"health {server.health()}")
        log = server.log.read_text(encoding="utf-8")
        say("log", log.strip())
    told = [word for word in (QUESTION, PAGE.name) if word in log]
    say(f"the log names what was asked: {told or 'no'}")
    return int(ready > READY_S or memory > MOST_MB or bool(told) or '"event": "run"' not in log)


if __name__ == "__main__":
    sys.exit(main())
