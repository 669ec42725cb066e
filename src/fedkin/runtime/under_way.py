"""What lasts says how far it is, to whoever listens: a display, a line on a terminal, or nobody."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Heard = Callable[[str, int, int], None]  # (what, how many are done, of how many)

_listener: ContextVar[Heard | None] = ContextVar("fedkin_under_way", default=None)


@contextmanager
def heard(listener: Heard) -> Iterator[None]:
    """Within, ``listener`` is called.

    Args:
        listener: Takes (what, how many are done, of how many).

    Yields:
        Nothing.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(what: str, done: int, of: int) -> None:
    """So many are done of so many.

    Args:
        what: Is under way, in words.
        done: How many are done.
        of: How many there are.
    """
    listener = _listener.get()
    if listener is not None:
        listener(what, done, of)


def counted(what: str, items: Sequence[T]) -> Iterator[T]:
    """The items; the listener is called when one is done.

    Args:
        what: Is under way, in words.
        items: In their order.

    Yields:
        Each item; the one before is done then.
    """
    return arriving(what, items, len(items))


def arriving(what: str, items: Iterable[T], of: int) -> Iterator[T]:
    """The same of items whose number is known before they are.

    Args:
        what: Is under way, in words.
        items: As they arrive.
        of: How many there will be.

    Yields:
        Each item.
    """
    tell(what, 0, of)
    for done, item in enumerate(items, 1):
        yield item
        tell(what, done, of)
