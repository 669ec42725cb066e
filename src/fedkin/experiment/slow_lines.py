"""A line on stderr now and then for what lasts: what, how far, about how long."""

import math
import time
from collections.abc import Callable

from fedkin.experiment.terminal import warn

PATIENCE = 3.0  # seconds of silence
SELDOM = 0.1  # of the time that has passed: what lasts hours is told of every few minutes


class SlowLines:
    """A listener of ``runtime.under_way``: says nothing of what ends soon.

    Args:
        say: takes a line.
        clock: seconds, for tests.
        patience: seconds of silence; PATIENCE unless given.
    """

    def __init__(
        self,
        say: Callable[[str], None] = warn,
        clock: Callable[[], float] = time.monotonic,
        patience: float | None = None,
    ) -> None:
        self._say, self._clock = say, clock
        self._patience = PATIENCE if patience is None else patience
        self._began: dict[str, float] = {}
        self._said: float | None = None

    def __call__(self, what: str, done: int, of: int) -> None:
        now = self._clock()
        if not done:
            self._began[what] = now
        if self._said is None:
            self._said = now
        spent = now - self._began.get(what, now)
        silence = max(self._patience, SELDOM * spent) if self._patience else 0.0
        if now - self._said >= silence and done < of:
            self._said = now
            self._say(line(what, done, of, spent))


def line(what: str, done: int, of: int, spent: float) -> str:
    """How far it is.

    >>> line("finishing", 5, 20, 10.0), line("probing", 0, 3, 4.0)
    ('finishing: 5 of 20, about 30 s left', 'probing: 0 of 3')

    Args:
        what: Is under way.
        done: How much of it.
        of: How much there is.
        spent: Seconds since it began.

    Returns:
        Text without a line break.
    """
    left = f", about {math.ceil(spent / done * (of - done))} s left" if done and spent else ""
    return f"{what}: {done} of {of}{left}"
