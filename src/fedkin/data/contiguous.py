"""A population as workers read it: the samples of a client lie side by side, and a gather runs
through them in one go.

Samples that are scattered over a table of some hundred megabytes cost a page and several cache
lines each.
"""

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fedkin.data.arrays import Array, Ints
from fedkin.data.population import SPLITS, Population, write_array

BLOCK = 4096  # rows in memory at a time: the table may be most of it


def save_side_by_side(population: Population, directory: Path) -> None:
    """``Population.save`` with the rows of x, y and truth in the order of clients, and their
    numbers changed.

    A client finds the same samples in the same order. Across clients the order is another one
    (``pooled``).

    Args:
        population: Of all clients.
        directory: Made if it is not there.
    """
    order = _order(population)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    rows = {split: tuple(place[part] for part in population.rows(split)) for split in SPLITS}
    many = order.shape
    of_rows = {
        "x",
        "y",
        *(f"truth_{key}" for key, value in population.truth.items() if np.shape(value)[:1] == many),
    }

    def write(path: Path, array: Array) -> None:
        if path.stem in of_rows:
            _write_rows(path, array, order)
        else:
            write_array(path, array)

    replace(population, **rows).save(directory, write)  # type: ignore[arg-type]


def _order(population: Population) -> Ints:
    """Every row once: clients' own, one client after the other, then those that are nobody's."""
    parts = [
        population.rows(split)[client] for client in range(population.clients) for split in SPLITS
    ]
    owned = np.concatenate([*parts, np.empty(0, np.int64)])
    _, first = np.unique(owned, return_index=True)
    owned = owned[np.sort(first)]
    return np.concatenate([owned, np.setdiff1d(np.arange(len(population.x)), owned)])


def _write_rows(path: Path, array: Array, order: Ints) -> None:
    """Rows of an array as a .npy file.

    Raises OSError where they do not fit, which a mapped file would not.
    """
    with open(path, "wb") as file:
        _write_header(file, array)
        for first in range(0, len(order), BLOCK):
            file.write(array[order[first : first + BLOCK]].tobytes())


def _write_header(file: BinaryIO, array: Array) -> None:
    head = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, head)
