"""Progress lines on stderr for steps that take long, seldom enough to be read: what, how far, about
how long.
"""

import math
import time
from collections.abc import Callable

from fedkin.experiment.terminal import print_notice

PATIENCE = 3.0  # seconds of silence
SELDOM = 0.1  # of the time that has passed: a step of hours has a line every few minutes


class ThrottledLines:
    """A ``ProgressListener`` that writes no line of a step that ends soon.

    Args:
        say: Takes a line.
        clock: Seconds, for tests.
        patience: Seconds of silence between two lines; PATIENCE unless given.
    """

    def __init__(
        self,
        say: Callable[[str], None] = print_notice,
        clock: Callable[[], float] = time.monotonic,
        patience: float | None = None,
    ) -> None:
        self._say, self._clock = say, clock
        self._patience = PATIENCE if patience is None else patience
        self._began: dict[str, float] = {}
        self._last_line: float | None = None  # when it was written

    def __call__(self, step: str, done: int, total: int) -> None:
        now = self._clock()
        if not done:
            self._began[step] = now
        if self._last_line is None:
            self._last_line = now
        spent = now - self._began.get(step, now)
        silence = max(self._patience, SELDOM * spent) if self._patience else 0.0
        if now - self._last_line >= silence and done < total:
            self._last_line = now
            self._say(line(step, done, total, spent))


def line(step: str, done: int, total: int, spent: float) -> str:
    """How far a step is, and about how long it will still take.

    >>> line("finishing", 5, 20, 10.0), line("probing", 0, 3, 4.0)
    ('finishing: 5 of 20, about 30 s left', 'probing: 0 of 3')

    Args:
        step: What is in progress, in words.
        done: How many items are done.
        total: How many there are.
        spent: Seconds since it began.

    Returns:
        Text without a line break.
    """
    left = f", about {math.ceil(spent / done * (total - done))} s left" if done and spent else ""
    return f"{step}: {done} of {total}{left}"
