"""Where a table is not a number: looked for block by block, so that the look costs no copy of the
table.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 20  # numbers looked at at a time


def first_not_finite(x: npt.NDArray[Any]) -> int | None:
    """The first row of x [n, ...] that holds NaN or infinity; None where none does, or x holds
    whole numbers.

    Args:
        x: Numbers of any type.

    Returns:
        The row's number, from 0.
    """
    if x.dtype.kind != "f" or x.size == 0:
        return None
    step = max(1, BLOCK * len(x) // x.size)
    for low in range(0, len(x), step):
        part = x[low : low + step]
        bad = np.flatnonzero(~np.isfinite(part).reshape(len(part), -1).all(axis=1))
        if len(bad):
            return low + int(bad[0])
    return None
