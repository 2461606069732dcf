"""The machine that a run is on: what it is, and whether it is busy. No torch."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

#: load average over one minute above which times say more about the machine's other work
BUSY = 1.5

CPUINFO = Path("/proc/cpuinfo")


def load() -> float | None:
    """Load average over the last minute; None where the system keeps none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def cores() -> int:
    """Cores that this process can use."""
    return os.cpu_count() or 1


def ran_out(error: BaseException) -> bool:
    """Whether Python or torch found no room, on a GPU or in the machine's memory."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint(("MemoryError", "OutOfMemoryError")) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def machine() -> dict[str, Any]:
    """Processor and cores, for the provenance of times."""
    return {"cpu": _cpu(), "cores": cores()}


def _cpu() -> str:
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()
