"""Which samples are the same, number for number: by a hash of 64 bits a row, without copying
the table.
"""

import numpy as np

from fedkin.data.arrays import Array, Ints

BLOCK = 1 << 22  # numbers that are hashed at a time


def same_rows(x: Array, y: Array) -> Ints:
    """A number a sample [n], equal for samples whose x and y are equal (two different ones share it
    by chance 2⁻⁶⁴).

    Args:
        x: [n, …] samples.
        y: [n] labels.

    Returns:
        int64 [n] from 0.
    """
    flat = np.ascontiguousarray(x).reshape(len(x), -1)
    weights = (
        np.random.Generator(np.random.Philox(0)).integers(
            1, 2**63, flat.shape[1] + 1, dtype=np.uint64
        )
        * 2
        + 1
    )
    hashes = np.empty(len(x), dtype=np.uint64)
    step = max(1, BLOCK // max(1, flat.shape[1]))
    for low in range(0, len(x), step):
        part = _mixed(_words(flat[low : low + step])) * weights[:-1]
        hashes[low : low + step] = part.sum(axis=1, dtype=np.uint64)
    hashes += _mixed(_words(np.ascontiguousarray(y, dtype=np.float64))) * weights[-1]
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def _words(numbers: Array) -> Array:
    """A whole number for each number. Only -0.0 has other bits than what it is equal to."""
    if numbers.dtype.kind == "f":
        numbers = numbers + numbers.dtype.type(0)  # -0.0 becomes 0.0
    bits = {4: np.uint32, 8: np.uint64}.get(numbers.dtype.itemsize)
    return (numbers if bits is None else numbers.view(bits)).astype(np.uint64)


def _mixed(words: Array) -> Array:
    """SplitMix64's finaliser: numbers that differ in few bits differ in many."""
    words = (words + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    return (words ^ (words >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
