"""A run's progress in a notebook: one line of HTML with a bar, drawn over itself."""

import html
import importlib
import sys
import time
from types import TracebackType
from typing import Any, Self

from fedkin.experiment.progress import Tally, line
from fedkin.experiment.throttled_lines import ThrottledLines
from fedkin.runs.record import Record

PAUSE = 0.25  # seconds between two drawings


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows HTML.

    Returns:
        False on a terminal, and in IPython there.
    """
    shell = sys.modules.get("IPython")
    ipython = shell.get_ipython() if shell is not None else None
    return ipython is not None and hasattr(ipython, "kernel")


class Bar:
    """A ``Display`` of a notebook.

    Args:
        tally: The numbers that are shown.
        show: Puts up HTML once, and returns what replaces it; None: IPython's.
    """

    def __init__(self, tally: Tally, show: Any = None) -> None:
        self.tally, self._show = tally, show or _displayed
        self._drawn = 0.0
        self._handle: Any = None
        self.show_progress = ThrottledLines(self._show_line, patience=0.0)

    def update(self, record: Record) -> None:
        """A round happened.

        Args:
            record: What happened in the round.
        """
        self.tally.add(record)
        self._draw_again()

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._draw()

    def _show_line(self, line: str) -> None:
        self.tally.progress_line = line
        self._draw_again()

    def _draw_again(self) -> None:
        if time.monotonic() - self._drawn >= PAUSE:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        drawn = bar(self.tally)
        if self._handle is None:
            self._handle = self._show(drawn)
        else:
            self._handle(drawn)


def bar(tally: Tally) -> str:
    """The tally as HTML: a bar that a screen reader can read, and its line.

    Args:
        tally: The numbers that are shown.

    Returns:
        A <div>, whose texts are escaped.
    """
    done = f'<progress max="{tally.rounds}" value="{tally.round}" aria-label="rounds"></progress>'
    return f"<div>{html.escape(tally.head)}<br>{done} {html.escape(line(tally))}</div>"


def _displayed(text: str) -> Any:
    shown: Any = importlib.import_module("IPython.display")
    handle = shown.display(shown.HTML(text), display_id=True)
    return lambda newer: handle.update(shown.HTML(newer))
