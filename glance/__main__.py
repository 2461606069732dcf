"""`python -m glance`: sets the machine up before anything heavy loads, then runs one command."""

import os
import sys

# Decoding one row at a time is fastest on one thread; training uses every core. Idle threads
# must not spin: they would take the cores from the ones at work. A value already set is kept.
_training = sys.argv[1:2] == ["train"]
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count() or 1) if _training else "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Models are folders on this machine: look nothing up, and keep progress to our own lines.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

from glance.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
