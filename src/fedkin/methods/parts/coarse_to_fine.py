"""The best point of a grid of two numbers, without measuring all of it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Point = tuple[float, float]
T = TypeVar("T")
EVERY = (4, 3)  # of the first and of the second number, to begin with
STEPS = ((2, 1), (1, 1))  # so far around the best, afterwards


def coarse_to_fine(
    measured: Callable[[Sequence[Point]], Sequence[T]],
    order: Callable[[T], Any],
    axes: tuple[Sequence[float], Sequence[float]],
    same: Callable[[Point], Point],
) -> list[T]:
    """What a walk over the grid finds: far apart first, then around the best so far.

    >>> def far(point): return abs(point[0] - 13) + abs(point[1] - 5)
    >>> axes = range(21), range(7)
    >>> found = coarse_to_fine(lambda points: points, far, axes, lambda point: point)
    >>> min(found, key=far), len(found)
    ((13, 5), 30)

    Args:
        measured: what is found at each of some points.
        order: by which the least is the best; the earlier point wins a tie.
        axes: values of the first and of the second number.
        same: the point that stands for this one and others like it, which is measured once.

    Returns:
        What ``measured`` gave, in the order of the points; the best is among them.
    """
    first, second = (sorted({*axis}) for axis in axes)
    known: dict[Point, T] = {}

    def visit(across: Sequence[int], down: Sequence[int]) -> Point:
        points = dict.fromkeys(same((first[i], second[j])) for i in across for j in down)
        new = [point for point in points if point not in known]
        if new:
            known.update(zip(new, measured(new), strict=True))
        return min(sorted(known), key=lambda point: order(known[point]))

    at = visit(_spread(len(first), EVERY[0]), _spread(len(second), EVERY[1]))
    for wide, high in STEPS:
        across = _around(first.index(at[0]), wide, len(first))
        at = visit(across, _around(second.index(at[1]), high, len(second)))
    return [known[point] for point in sorted(known)]


def _spread(count: int, every: int) -> list[int]:
    """Numbers below ``count``, so far apart, with the last one."""
    return sorted({*range(0, count, every), count - 1})


def _around(at: int, apart: int, count: int) -> list[int]:
    return [i for i in (at - apart, at, at + apart) if 0 <= i < count]
