"""What a start costs, and what there is to watch a server by: python -m tests.load.start_up.

Prints the seconds from the command to the page and to the model that is ready, the memory that the
server's process holds then and after one answer, the most that it ever held after a page of almost
as many pixels as are allowed and an answer of as many tokens, its health, and what it logged. Ends
with 1 where the model was not ready in time, the memory is over its limit, a line of the log is not
JSON, or the log names what was asked or answered.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from gradio_client import Client, handle_file
from PIL import Image

from tests.load.server import ROOT, running, say

PAGE = ROOT / "assets" / "samples" / "receipt.png"
QUESTION = "What is the total?"
LARGE = (7000, 5600)  # of the 40 million pixels that are allowed
READY_S = 20
MOST_MB = 2000


def main() -> int:
    """Start, measure, ask once, measure."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        say(f"page answers after {server.wait(''):.1f} s")
        ready = server.wait("ready")
        say(f"model ready after {ready:.1f} s of {READY_S}, {server.memory():.0f} MB resident")
        client = Client(server.address, verbose=False)
        result = client.predict(handle_file(str(PAGE)), QUESTION, api_name="/ask")
        say(f"after one answer {server.memory():.0f} MB of {MOST_MB}")
        large = str(Path(folder) / "large.png")
        with Image.open(PAGE) as page:
            page.convert("RGB").resize(LARGE).save(large, compress_level=1)
        given = {"question": "Transcribe the page.", "max_tokens": 512, "node_budget": 63}
        client.predict(handle_file(large), **given, api_name="/ask")
        memory = server.peak()
        say(f"at most {memory:.0f} MB of {MOST_MB}, with a page of {LARGE[0]} x {LARGE[1]} pixels")
        say(f"health {server.health()}")
        log = server.log.read_text(encoding="utf-8")
        say("log", log.strip())
    told = [word for word in (QUESTION, PAGE.name, result["answers"]["ar"]) if word in log]
    say(f"the log names what was asked or answered: {told or 'no'}")
    odd = [line for line in log.splitlines() if not _is_json(line)]
    say(f"lines of the log that are not JSON: {odd or 'none'}")
    wrong = told or odd or '"event": "run"' not in log
    return int(ready > READY_S or memory > MOST_MB or bool(wrong))


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
