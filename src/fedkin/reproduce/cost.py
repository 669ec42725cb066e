"""What a run costs in processor time: kept beside its records, for the clock says little on a
machine that is shared.

Seconds are those of this process and of the worker processes that have ended, whatever else the
machine does.
"""

import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fedkin.core.errors import Halted
from fedkin.core.files import read_file, write_file
from fedkin.experiment.training import Progress
from fedkin.runs.record import Record

KEPT = "processor.json"
LARGEST = 1 << 16  # bytes of it
FIRST = "setup"  # the phase that a run begins with


class Cost(NamedTuple):
    """``total`` of all sessions of a run, seconds. The parts are known of runs in one session and
    one process: ``once`` until the first round is done (reading, splitting, compiling), ``round``
    each later one, ``finish``. ``until``: the last round that is counted.
    """

    total: float
    once: float | None = None
    round: float | None = None
    finish: float | None = None
    until: int | None = None


def clocked(folder: Path, work: Callable[[Progress], Path]) -> None:
    """Run or resume a run, and keep what it cost; a session that trained nothing costs nothing.

    Where an earlier session was killed before it could say what it cost, nothing is kept: the rest
    is not the whole.

    Args:
        folder: The run directory.
        work: Runs or resumes it; takes what is called with each record, and gives the folder.

    Raises:
        Halted: It cannot be kept.
    """
    marks: list[tuple[str, float]] = []
    numbers: list[int] = []

    def progress(record: Record) -> None:
        marks.append((record.phase, processor()))
        numbers.append(record.round)

    began = processor()
    try:
        work(progress)
    except BaseException:
        with suppress(OSError):  # of a full disk the run itself has told already
            _keep(folder, marks, began, numbers)
        raise
    try:
        _keep(folder, marks, began, numbers)
    except OSError as error:
        raise Halted(f"{folder / KEPT} cannot be written: {error.strerror}") from None


def _keep(folder: Path, marks: list[tuple[str, float]], began: float, numbers: list[int]) -> None:
    if not marks:
        return
    before = cost(folder)
    if before is not None and before.until is not None and numbers[0] > before.until + 1:
        (folder / KEPT).unlink()  # a session between that one and this was killed
    elif before is not None:
        _write(folder, Cost(before.total + processor() - began), numbers)
    elif marks[0][0] == FIRST:
        _write(folder, parts(marks, began, processor()), numbers)


def _write(folder: Path, spent: Cost, numbers: list[int]) -> None:
    content = json.dumps(spent._replace(until=numbers[-1])._asdict()).encode()
    write_file(folder / KEPT, content, links=False)


def cost(folder: Path) -> Cost | None:
    """What a run cost, as it was kept.

    Args:
        folder: The run directory.

    Returns:
        Processor seconds; None of a run that was not made here.
    """
    try:
        spent = Cost(**json.loads(read_file(folder / KEPT, LARGEST)))
        return spent if _sound(spent) else None
    except (OSError, RecursionError, ValueError, TypeError):
        return None


def _sound(spent: Cost) -> bool:
    """Whether it holds seconds, whoever wrote it."""
    known = [one for one in (spent.once, spent.round, spent.finish) if one is not None]
    return all(
        isinstance(one, float) and math.isfinite(one) and one >= 0 for one in (spent.total, *known)
    ) and (spent.until is None or type(spent.until) is int)


def parts(marks: list[tuple[str, float]], began: float, ended: float) -> Cost:
    """A session's cost in parts.

    Args:
        marks: (phase, processor seconds when it was done), in order.
        began: Processor seconds at the beginning.
        ended: Processor seconds at the end.

    Returns:
        The total alone where the session is not a whole run.
    """
    rounds = [at for phase, at in marks if phase == "round"]
    whole = marks[0][0] == FIRST and marks[-1][0] == "finish" and len(rounds) > 1
    if not whole:
        return Cost(ended - began)
    each = (rounds[-1] - rounds[0]) / (len(rounds) - 1)
    return Cost(ended - began, rounds[0] - began, each, ended - rounds[-1])


def processor() -> float:
    """Processor seconds so far of this process and of its children that have ended.

    Returns:
        Seconds, from 0.
    """
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system
