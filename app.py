"""Opens the page: `python app.py`. The model loads behind it, once the page is up."""

import os
from contextlib import suppress

# Decoding one row at a time is fastest on one thread, and idle threads must not spin: both are
# read when torch loads. A value that is already set is kept.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # a bar is no line of the log

with suppress(ImportError):
    import spaces  # noqa: F401 - on a ZeroGPU Space, before anything that can load torch

from app.addresses import addresses
from app.api import mcp_offered
from app.by_name import PUBLIC_ONLY
from app.full import IN_WORDS
from app.headers import STRICT
from app.host import Host
from app.journal import to_stderr
from app.session import Session, load_runner
from app.ui import build, launch_options
from app.zerogpu import lent, on_zerogpu

host = Host()
session = Session(lambda: lent(load_runner(host, gpu_is_lent=on_zerogpu())), host)
demo = build(session)

if __name__ == "__main__":
    to_stderr()
    if on_zerogpu():
        session.load()  # `spaces` takes the weights over when the page opens
    demo.launch(
        **launch_options(),
        app_kwargs={
            "routes": addresses(session),
            "middleware": [STRICT, PUBLIC_ONLY],
            "exception_handlers": IN_WORDS,
        },
        mcp_server=mcp_offered(),
        prevent_thread_lock=True,
    )
    if not session.settled:
        session.start()
    demo.block_thread()
