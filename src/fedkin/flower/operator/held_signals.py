"""Signals that wait until a piece of work is done which must not be left halfway."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Ctrl-C, and the end of a terminal or a machine, as far as the system has them
HELD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Signals do what they do once the block is done; a second Ctrl-C does not wait.

    Yields:
        Nothing.
    """
    seen: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and number in seen:
            raise KeyboardInterrupt
        seen.append(number)

    try:
        before = {number: signal.signal(number, remember) for number in HELD}
    except ValueError:  # not in the main thread, which no signal reaches
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if seen:
            signal.raise_signal(seen[0])
