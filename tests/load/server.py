"""`python app.py` in a process of its own: what it says, holds and leaves on the disk."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    address: str
    uploads: Path  # folder of what its visitors send
    log: Path  # what it writes to stderr
    process: subprocess.Popen[bytes]
    started: float  # seconds, time.monotonic()

    def health(self) -> dict:
        """What it says of itself; {} while it does not answer."""
        try:
            return httpx.get(f"{self.address}/health", timeout=5).json()
        except httpx.TransportError:
            return {}

    def memory(self) -> float:
        """Resident memory of its process in MB."""
        command = ["ps", "-o", "rss=", "-p", str(self.process.pid)]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(told.stdout) / 1000

    def peak(self) -> float:
        """The most resident memory that its process has had so far, in MB; Linux alone tells."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1000

    def files(self) -> list[Path]:
        """The files of its visitors that are on its disk."""
        return [path for path in self.uploads.rglob("*") if path.is_file()]

    def wait(self, model: str, seconds: float = 300) -> float:
        """Wait until its model is in that phase, or for "" until it answers; seconds it took.

        Raises:
            RuntimeError: it ended, or took too long.
        """
        while not (found := self.health()) or (model and found["model"] != model):
            if time.monotonic() - self.started > seconds or self.process.poll() is not None:
                raise RuntimeError(f"the server is not there; it last said {found}")
            time.sleep(0.05)
        return time.monotonic() - self.started


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """The page as a reader of the README opens it; its uploads and its log lie in the folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    uploads, log = folder / "uploads", folder / "log"
    uploads.mkdir()
    environment = {
        **os.environ,
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(uploads),
    }
    with log.open("wb") as stderr:
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            yield Server(f"http://127.0.0.1:{port}", uploads, log, process, started)
        finally:
            process.terminate()
            process.wait(20)


def say(*lines: str) -> None:
    """To stdout, at once."""
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
