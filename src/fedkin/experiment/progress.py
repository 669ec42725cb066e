"""What a run shows while it goes on: a small live table, or plain lines where there is
no terminal.
"""

import math
import time
from collections.abc import Mapping
from statistics import fmean, median
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fedkin.core.errors import some
from fedkin.core.measures import measure_named
from fedkin.engine.round.panel import panel_size
from fedkin.experiment.terminal import Plainly, quiet, say
from fedkin.experiment.throttled_lines import ThrottledLines
from fedkin.report import formatting
from fedkin.report.intervals import half_width
from fedkin.report.scores import tenth
from fedkin.runs.record import EPSILON, FEDERATION, Record
from fedkin.runs.spec import Spec

NOTHING: Mapping[str, float] = {}
WINDOW = 10  # rounds that the estimate of the time left looks back on


class Tally:
    """The numbers on display, kept up to date by records.

    Args:
        spec: The experiment.
        head: The line above them.
        done: Rounds before a resume.
        sent: Bytes before a resume.
    """

    def __init__(self, spec: Spec, head: str, done: int = 0, sent: int = 0) -> None:
        self.head, self.rounds, self.sent = head, spec.run.rounds, sent
        self.round = min(max(done, 0), self.rounds)
        self.scored = self.round  # of which round the scores are
        self.phase = ""
        self.taken = ""
        self.measure = "accuracy"
        self.means: dict[str, float] = {}
        self.worst: dict[str, float] = {}
        self.sampled = spec.run.evaluate != "all"
        self.size = panel_size(spec.run.evaluate)
        # of 95 % intervals of the means, where clients are drawn
        self.halves: dict[str, float] = {}
        self.left_out: dict[int, str] = {}
        self.epsilon: float | None = (
            None  # what privacy has cost so far, of the client it cost most
        )
        self.progress_line = ""  # of a long step, until the next record
        self._paces: list[float] = []
        self._last = time.monotonic()

    def add(self, record: Record) -> None:
        """A round happened.

        Args:
            record: What happened in the round.
        """
        now = time.monotonic()
        if record.phase == "round":  # who follows another process may hear of several at once
            pace = max(now - self._last, record.seconds.get("total", 0.0))
            self._paces = [*self._paces[-WINDOW:], pace]
        self._last, self.progress_line = now, ""
        self.phase = record.phase
        self.round = self.round if self.phase == "finish" else record.round
        self.sent += sum(message.bytes for message in record.sent)
        self.left_out = record.missing
        self.epsilon = max(record.server_metrics.get(EPSILON, {}).values(), default=None)
        if record.scores:
            self.scored = self.round
        for view in {view for views in record.scores.values() for view in views}:
            self._score(record, view)
        if record.scores and (not self.sampled or self.size not in (None, len(record.scores))):
            self.halves = {}  # everybody was asked

    @property
    def means_shown(self) -> str:
        """The means over clients, personal first, with their round where it is an earlier one."""
        shown = self._shown(self.means, self.halves)
        old = shown and self.scored != self.round
        return f"{shown} (of round {self.scored})" if old else shown

    @property
    def worst_shown(self) -> str:
        """The worst deciles, personal first."""
        return self._shown(self.worst)

    @property
    def pace(self) -> float | None:
        """Seconds a round; the first one, which prepares the steps, counts only while
        it is alone.
        """
        paces = self._paces[1:] or self._paces
        return median(paces) if paces else None

    @property
    def left(self) -> float | None:
        """Seconds to the last round, estimated; unknown in the first two rounds."""
        if self.pace is None or len(self._paces) < 2:
            return None
        return max(0.0, self.pace * (self.rounds - self.round) - (time.monotonic() - self._last))

    def _shown(self, values: Mapping[str, float], halves: Mapping[str, float] = NOTHING) -> str:
        order = sorted(values, key=lambda view: (view != "personal", view))
        return "   ".join(
            f"{formatting.value(self.measure, values[view])}"
            f"{formatting.half_width(self.measure, halves.get(view))} {view}"
            for view in order
        )

    def _score(self, record: Record, view: str) -> None:
        of = [views[view].get("test", {}) for views in record.measures.values() if view in views]
        measure_name = next(
            (name for one in of for name in one if record.phase == "round"), self.taken
        )
        self.taken = measure_name  # the experiment's measure, where a round's record has one
        scores = sorted(
            one[measure_name]
            for one in of
            if measure_name in one and math.isfinite(one[measure_name])
        )
        summed = FEDERATION in record.scores  # under masks: one mean, and no client's own score
        if scores:
            self._keep(view, measure_name, scores, summed)
            return
        pairs = [
            views[view]["test"] for views in record.scores.values() if "test" in views.get(view, {})
        ]
        for place, measure in ((1, "accuracy"), (0, "loss")):  # a regression has no accuracy
            values = sorted(pair[place] for pair in pairs if math.isfinite(pair[place]))
            if values:
                self._keep(view, measure, values, summed)
                return

    def _keep(self, view: str, measure: str, ascending: list[float], summed: bool) -> None:
        values = ascending if measure_named(measure).higher else ascending[::-1]
        self.measure = measure
        self.means[view] = fmean(values)
        if summed:
            return
        self.halves[view] = half_width(values)
        self.worst[view] = fmean(values[: tenth(len(values))])


class Display(Protocol):
    """Shows a run from its beginning to its end: ``with display: … display.update(record)``."""

    def update(self, record: Record) -> None:
        """A round happened.

        Args:
            record: What happened in it.
        """

    def show_progress(self, step: str, done: int, total: int) -> None:
        """A long step reports how far it is (``runtime.progress``).

        Args:
            step: What is in progress, in words.
            done: How many items are done.
            total: How many there are.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def display(tally: Tally, console: Console) -> Display:
    """The live table on a terminal, plain lines elsewhere; nothing where it is to be quiet.

    Args:
        tally: The numbers that are shown.
        console: Standard output.

    Returns:
        A context; its ``update`` takes each record.
    """
    if quiet():
        return QuietDisplay()
    return (
        LiveTable(tally, console)
        if console.is_terminal and not console.is_dumb_terminal
        else PlainLines(tally)
    )


class QuietDisplay:
    """``--quiet``: nothing is shown."""

    def update(self, record: Record) -> None:
        """Nothing.

        Args:
            record: What happened in a round.
        """

    def show_progress(self, step: str, done: int, total: int) -> None:
        """Nothing.

        Args:
            step: What is in progress, in words.
            done: How many items are done.
            total: How many there are.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


class LiveTable:
    """A table that is drawn over itself four times a second.

    Args:
        tally: The numbers that are shown.
        console: A terminal.
    """

    def __init__(self, tally: Tally, console: Console) -> None:
        self.tally = tally
        # drawn with the rest, until the next record
        self.show_progress = ThrottledLines(self._show_line, patience=0.0)
        self._live = Live(
            get_renderable=self._draw, console=console, refresh_per_second=4, transient=True
        )

    def update(self, record: Record) -> None:
        """A round happened.

        Args:
            record: What happened in it.
        """
        self.tally.add(record)

    def _show_line(self, line: str) -> None:
        self.tally.progress_line = line

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def _draw(self) -> RenderableType:
        tally = self.tally
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        bar = Table.grid(padding=(0, 2, 0, 0))
        bar.add_row(
            f"{tally.round}/{tally.rounds}", ProgressBar(tally.rounds, tally.round, width=36)
        )
        table.add_row("round", bar)
        table.add_row(formatting.label(tally.measure), tally.means_shown or "…")
        if tally.worst or not tally.means:
            table.add_row("worst decile", tally.worst_shown or "…")
        table.add_row("sent", formatting.size(tally.sent))
        if tally.epsilon is not None:
            table.add_row("privacy", f"ε {tally.epsilon:.3g} so far")
        table.add_row("time", _time(tally))
        if tally.left_out:
            client, reason = next(iter(tally.left_out.items()))
            table.add_row(
                "left out",
                Text(f"{len(tally.left_out)} clients; client {client}: {reason}", style="yellow"),
            )
        foot = Text(
            "Ctrl-C stops after the round, a second one at once; nothing committed is lost",
            style="dim",
        )
        return Plainly(Group(Text(tally.head, style="bold"), table, foot))


class PlainLines:
    """One line a round, at most one a second besides the first and the last.

    Args:
        tally: The numbers that are shown.
    """

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self._printed = -math.inf
        self.show_progress = ThrottledLines(say)

    def update(self, record: Record) -> None:
        """A round happened.

        Args:
            record: What happened in it.
        """
        tally = self.tally
        tally.add(record)
        if record.phase != "round":
            return
        now = time.monotonic()
        if now - self._printed >= 1 or tally.round == tally.rounds:
            self._printed = now
            say(line(tally))

    def __enter__(self) -> Self:
        say(self.tally.head)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


def line(tally: Tally) -> str:
    """The tally as one plain line.

    Args:
        tally: The numbers that are shown.

    Returns:
        Text without a line break.
    """
    parts = [f"round {tally.round}/{tally.rounds}"]
    if tally.means:
        parts += [f"{formatting.label(tally.measure)} {tally.means_shown}"]
    if tally.worst:
        parts += [f"worst decile {tally.worst_shown.split('   ')[0]}"]
    parts += [f"{formatting.size(tally.sent)} sent"]
    parts += [] if tally.epsilon is None else [f"ε {tally.epsilon:.3g}"]
    parts += [_time(tally)]
    if tally.left_out:
        parts.append(f"left out: {some(f'client {one}' for one in sorted(tally.left_out))}")
    return "  ".join(parts)


def clock(seconds: float) -> str:
    """Seconds for people.

    >>> clock(0.0123), clock(7.44), clock(95), clock(7300)
    ('0.012 s', '7.4 s', '1 min 35 s', '2 h 01 min')

    Args:
        seconds: From 0.

    Returns:
        Two digits below 10 s, whole seconds below a minute, then minutes or hours and minutes.
    """
    if seconds < 59.5:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _time(tally: Tally) -> str:
    if tally.pace is None:
        return "preparing: the first round may compile its steps"
    if tally.phase == "finish":
        return f"{clock(tally.pace)} a round"
    if tally.progress_line:
        return tally.progress_line
    if tally.round == tally.rounds:
        return f"{clock(tally.pace)} a round, finishing"
    left = "" if tally.left is None else f", about {clock(math.ceil(tally.left))} left"
    return f"{clock(tally.pace)} a round{left}"
