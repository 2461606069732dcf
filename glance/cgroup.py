"""How much memory the control groups of this process leave it: a container's limit. No torch."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")

#: files with the limit and what is used of it, and the name of what is used but given up on demand
SECOND = ("memory.max", "memory.current", "inactive_file")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def memory_left() -> int | None:
    """Bytes up to the nearest limit; None where there is none."""
    try:
        lines = OWN.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    left: list[int] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            left += _along(ROOT, path, SECOND)
        elif "memory" in controllers.split(","):
            left += _along(ROOT / "memory", path, FIRST)
    return min(left, default=None)


def _along(root: Path, path: str, names: tuple[str, str, str]) -> list[int]:
    """What each group from the own one up to the root leaves, of those that have a limit."""
    own = root / path.strip("/")
    above = [folder for folder in own.parents if folder.is_relative_to(root)]
    return [left for folder in (own, *above) if (left := _left(folder, *names)) is not None]


def _left(folder: Path, limit: str, used: str, spare: str) -> int | None:
    try:
        most, now = (int((folder / name).read_text(encoding="utf-8")) for name in (limit, used))
        stat = (folder / "memory.stat").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # a container sees its own group alone; "max" is no limit
        return None
    given_up = sum(int(line.split()[1]) for line in stat if line.split()[0] == spare)
    return max(0, most - now + given_up)
