"""Ctrl-C, remembered until somebody asks for it."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is remembered until the round is done; a second one stops at once."""
    seen: list[int] = []

    def remember(number: int, frame: Any) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)
        print(
            "ending this round, then stopping; Ctrl-C again stops at once",
            file=sys.stderr,
            flush=True,
        )

    try:
        before = signal.signal(signal.SIGINT, remember)
    except ValueError:  # not in the main thread: nothing to catch there
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)
