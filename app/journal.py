"""The server's log: one JSON object a line, and never a word of a document or a question."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from uvicorn.config import LOGGING_CONFIG

from glance.trace import Line

OWN = ("app", "glance")  # whose loggers are this program's

log = logging.getLogger("app.runs")


def log_run(
    run: str,
    outcome: str,
    *,
    source: str,
    waited_ms: float,
    ms: float,
    lines: Sequence[Line],
) -> None:
    """One line about a run that has ended: how long, how much, how it went.

    Args:
        outcome: done, stopped, or that of its trouble (`app.troubles`).
        source: page or api.
        waited_ms: in the queue, and for the model.
        ms: of decoding.
        lines: its trace, of which only counts are taken.
    """
    lanes = {line["lane"]: line for line in lines if line["kind"] == "finish"}
    fields = {
        "run": run,
        "outcome": outcome,
        "source": source,
        "waited_ms": round(waited_ms),
        "ms": round(ms),
        "tokens": {lane: line["tokens"] for lane, line in lanes.items()},
        "target_passes": {lane: line["target_passes"] for lane, line in lanes.items()},
        "compare": next((line["state"] for line in lines if line["kind"] == "compare"), None),
    }
    log.info("run", extra={"fields": fields})


class JsonLines(logging.Formatter):
    """Records as JSON. Of an exception only its class and where it was raised, as its own text may
    quote a document; of other packages' words the first line, as asyncio quotes in the second."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        value: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": self._words(record),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            value["exception"] = record.exc_info[0].__name__
            value["at"] = [
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return json.dumps(value, ensure_ascii=False)

    @staticmethod
    def _words(record: logging.LogRecord) -> str:
        words = record.getMessage()
        return words if record.name.partition(".")[0] in OWN else words.partition("\n")[0]


def to_stderr() -> None:
    """Send all that is logged in this process to stderr as JSON lines, the server's words too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    for name in OWN:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name in ("default", "access"):
        LOGGING_CONFIG["formatters"][name] = {"()": JsonLines}
    # Gradio calls it for whatever breaks in an event, with the text of the exception in it
    traceback.print_exc = _event_broke


def _event_broke(*_: Any, **__: Any) -> None:
    logging.getLogger("app.events").exception("an event broke")
