"""Opens the page: `python app.py`. The model loads behind it, once the page is up."""

import os

# Decoding one row at a time is fastest on one thread, and idle threads must not spin: both are
# read when torch loads. A value that is already set is kept.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from app.session import Session
from app.ui import build, launch_options

session = Session()
demo = build(session)

if __name__ == "__main__":
    demo.launch(**launch_options(), prevent_thread_lock=True)
    session.start()
    demo.block_thread()
