"""Whether pip finds versions that fit: python -m tests.space_resolve. Needs a package index.

Resolves requirements.txt for Linux under each Python and torch that a Space may have, from packages
that need no building, and installs nothing. Conditions of packages on the Python version are those
of the Python that runs this.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

PYTHONS = ("3.11", "3.12")
TORCHES = ("2.8.0", "2.11.0")
#: pip takes each of these for itself, and does not know that a system has all older ones too
LINUX = ("_2_28", "_2_27", "_2_24", "_2_17", "2014", "_2_12", "2010", "_2_5", "1")
REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"


def main() -> int:
    """Print a line for each combination; 1 if one of them has no solution."""
    failed = False
    for python, torch in product(PYTHONS, TORCHES):
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet"]
        command += ["--ignore-installed", "--report", "-", "--only-binary", ":all:"]
        command += ["--target", "nowhere", "--python-version", python]
        for system in LINUX:
            command += ["--platform", f"manylinux{system}_x86_64"]
        command += ["-r", str(REQUIREMENTS), f"torch=={torch}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)["install"] if done.returncode == 0 else []
        told = f"{len(found)} packages" if found else done.stderr.strip()
        sys.stdout.write(f"Python {python}, torch {torch}: {told}\n")
        failed |= not found
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
