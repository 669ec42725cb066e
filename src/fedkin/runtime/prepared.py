"""What was prepared of steps, so that memory holds no step that nobody asks for again.

A step that a method makes within ``client_update`` is another one at each call, and is prepared at
each: kept for ever, they fill the memory.
"""

import inspect
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 32  # steps of one origin and one kind that are kept; a method has a few


class Prepared(Mapping[Any, T]):
    """What was prepared, by a key whose first part is the step, and whose others are its kind."""

    def __init__(self) -> None:
        self._made: dict[Any, T] = {}
        self._alike: dict[Any, deque[Any]] = {}

    def __getitem__(self, key: Any) -> T:
        return self._made[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def keep(self, key: Any, made: T) -> bool:
        """Keep what was made of a step; of more than ``MOST`` alike the oldest goes.

        Args:
            key: (the step, its kind…); it is not there yet.
            made: What was made.

        Returns:
            Whether another one went: the step is made anew again and again.
        """
        self._made[key] = made
        step, *kind = key
        alike = self._alike.setdefault((_origin(step), *kind), deque())
        alike.append(key)
        if len(alike) <= MOST:
            return False
        del self._made[alike.popleft()]
        return True


def retraced_note(step: Any) -> str:
    """What the record says of a step of which there are ever new ones.

    Args:
        step: One of them.

    Returns:
        A sentence, with the place where it is made.
    """
    origin = inspect.unwrap(step)
    name = getattr(origin, "__qualname__", type(origin).__name__)
    code = getattr(origin, "__code__", None)
    place = "" if code is None else f" ({Path(code.co_filename).name}, line {code.co_firstlineno})"
    return (
        f"step {name}{place} is made anew in each call and recorded each time, which is slow: "
        "write it at the top of the file"
    )


def _origin(step: Any) -> Any:
    """Equal for functions of one ``def``, and for objects of one class."""
    step = inspect.unwrap(step)
    return getattr(step, "__code__", type(step))
