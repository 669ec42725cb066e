"""How tasks and results cross to a worker and back: rows of a header, and blobs beside them."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fedkin.engine.evaluation import Evaluation
from fedkin.engine.op import Task, TaskResult
from fedkin.engine.transports.work_queue import Claims

# answers cross together if they come so soon (seconds), and are no larger (bytes)
PARCEL_SECONDS, PARCEL = 0.01, 4 << 20


Row = tuple[int, int | None, int | None]  # client, number of its blob, trained: of a task


def pack(tasks: list[Task]) -> tuple[list[Row], list[bytes]]:
    """Tasks as rows with a blob's number in place of the message, and the distinct blobs: a
    broadcast crosses to a worker once.

    Args:
        tasks: Of one worker.

    Returns:
        The rows, for a header; the blobs, in the order of their numbers.
    """
    numbers: dict[bytes, int] = {}
    header = []
    for client, message, trained in tasks:
        number = None if message is None else numbers.setdefault(message, len(numbers))
        header.append((client, number, trained))
    return header, list(numbers)


def task_of(row: Row, blobs: list[bytes]) -> Task:
    """A row of a header as the task that it was.

    Args:
        row: As ``pack`` made it.
        blobs: What ``pack`` found.

    Returns:
        With its message.
    """
    client, number, trained = row
    return Task(client, None if number is None else blobs[number], trained)


def tasks_of(header: dict[str, Any], blobs: list[bytes], claims: Claims) -> Iterator[Task]:
    """A worker's own tasks, then those of the others that nobody has taken when it
    comes to them.

    Args:
        header: Of the question.
        blobs: What ``pack`` found.
        claims: Places of the list that somebody took.

    Yields:
        One task at a time, unpacked when it is taken.
    """
    content, own = header["tasks"], header["own"]
    for place in chain(range(own), (own + free for free in claims.up_to(len(content) - own))):
        yield task_of(content[place], blobs)


def gathered(answers: Iterable[TaskResult]) -> Iterator[tuple[list[TaskResult], bool]]:
    """Answers a few at a time, and whether more come: each parcel wakes the coordinator, which
    takes the core.

    Args:
        answers: As they are made.

    Yields:
        Some of them, and whether more come.
    """
    parcel: list[TaskResult] = []
    opened = time.perf_counter()
    for answer in answers:
        parcel.append(answer)
        if (
            time.perf_counter() - opened > PARCEL_SECONDS
            or sum(len(one.message or b"") for one in parcel) > PARCEL
        ):
            yield parcel, True
            parcel, opened = [], time.perf_counter()
    yield parcel, False


def rows_of(answers: Sequence[TaskResult]) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Answers as rows of a header, and their messages.

    Args:
        answers: Of one parcel.

    Returns:
        Rows as ``results`` reads them; the messages, without those that are none.
    """
    rows = [
        {**one._asdict(), "message": one.message is not None, "record": list(one.record)}
        for one in answers
    ]
    return rows, [one.message for one in answers if one.message is not None]


def results(rows: Iterable[Mapping[str, Any]], blobs: Iterator[bytes]) -> Iterator[TaskResult]:
    """Answers as ``rows_of`` wrote them.

    Args:
        rows: Of a header.
        blobs: What came beside it; as many are read as there are messages.

    Yields:
        Answers, in the order of ``rows``.
    """
    for row in rows:
        message = next(blobs) if row["message"] else None
        record = Evaluation(*row["record"])
        yield TaskResult(**{**row, "message": message, "record": record})
