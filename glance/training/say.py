"""What long runs say on the way."""

import sys
from datetime import datetime


def say(text: str) -> None:
    """Progress goes to stderr."""
    print(f"{datetime.now():%H:%M:%S}  {text}", file=sys.stderr, flush=True)
