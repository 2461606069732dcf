"""The target of a run, from its options."""

from __future__ import annotations

import logging
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from glance.cli.output import note

if TYPE_CHECKING:
    from glance.targets.base import Target

SPREAD = "auto"  # the device that stands for all of them


class _Notes(logging.Handler):
    """Says on the side what loading logs: the memory that a model takes."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def named_target(options: Namespace) -> Target:
    """Load what `--target`, `--dtype`, `--device` and `--max-pixels` say.

    Raises:
        TargetError: see `load_target`.
    """
    import torch

    from glance.targets.load import load_target, log

    settings: dict[str, Any] = {}
    if options.dtype is not None:
        settings["dtype"] = getattr(torch, options.dtype)
    if options.device == SPREAD:
        settings["device_map"] = SPREAD
    elif options.device is not None:
        settings["device"] = options.device
    if options.max_pixels is not None:
        settings["max_pixels"] = options.max_pixels
    notes = _Notes(logging.INFO)
    level = log.level
    log.addHandler(notes)
    log.setLevel(logging.INFO)
    try:
        return load_target(options.target, **settings)
    finally:
        log.removeHandler(notes)
        log.setLevel(level)
