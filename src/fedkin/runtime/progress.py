"""Progress of long steps, reported to whoever listens: a display, a terminal, or nobody."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
ProgressListener = Callable[[str, int, int], None]  # (step in words, items done, items in all)

_listener: ContextVar[ProgressListener | None] = ContextVar("fedkin_progress", default=None)


@contextmanager
def progress_to(listener: ProgressListener) -> Iterator[None]:
    """Within this context, progress is reported to ``listener``.

    Args:
        listener: Takes (step in words, items done, items in all).

    Yields:
        Nothing.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(step: str, done: int, total: int) -> None:
    """Calls the listener of this context, if there is one.

    Args:
        step: What is in progress, in words.
        done: How many items are done.
        total: How many there are.
    """
    listener = _listener.get()
    if listener is not None:
        listener(step, done, total)


def tracked(step: str, items: Sequence[T]) -> Iterator[T]:
    """The items; progress is reported as each is done.

    Args:
        step: What is in progress, in words.
        items: In their order.

    Yields:
        Each item; the one before is done then.
    """
    return tracked_stream(step, items, len(items))


def tracked_stream(step: str, items: Iterable[T], total: int) -> Iterator[T]:
    """``tracked`` of items that arrive one by one, and whose number is known beforehand.

    Args:
        step: What is in progress, in words.
        items: As they arrive.
        total: How many there will be.

    Yields:
        Each item; the one before is done then.
    """
    report_progress(step, 0, total)
    for done, item in enumerate(items, 1):
        yield item
        report_progress(step, done, total)
