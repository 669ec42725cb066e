"""What tells a run to stop, remembered until somebody asks for it."""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LOG = logging.getLogger("fedkin")
TOLD: set[int] = set()
"""Signals that told this process to end at once. Their KeyboardInterrupt is raised wherever the
process happens to be, and is lost inside of a destructor or a callback of the garbage collector.
"""


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is remembered until the round is done; a second one stops at once, and so does a
    signal of ``TOLD`` whose exception was lost.

    Yields:
        A function that says whether Ctrl-C was pressed.
    """
    seen: list[int] = []

    def asked() -> bool:
        if TOLD:
            raise KeyboardInterrupt
        return bool(seen)

    def remember(number: int, frame: Any) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)
        LOG.warning("ending this round, then stopping; Ctrl-C again stops at once")

    try:
        before = signal.signal(signal.SIGINT, remember)
    except ValueError:  # not in the main thread: nothing to catch there
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
