"""Numbers of some pairs (client, other): a matrix of clients × clients of which few are known.

A tree of three tensors in the order of the pairs: ``of`` and ``to`` [pairs] int64, ``value``
[pairs]. What is not among them is 0. So the server keeps what it received, and not the square of
the clients.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from fedkin.core.tree import Tree

Rows = Mapping[int, tuple[Tensor, Tensor]]  # client → (others [n] int64, their values [n])


def no_pairs(dtype: torch.dtype) -> Tree:
    """No pairs.

    Args:
        dtype: Of the values.

    Returns:
        Three empty tensors, "of", "to" and "value".
    """
    return _pairs(_none(), _none(), torch.zeros(0, dtype=dtype))


def row_of(pairs: Tree, client: int) -> tuple[Tensor, Tensor]:
    """(others [n] int64 ascending, their values [n]) of a client.

    Args:
        pairs: As ``no_pairs`` begins them.
        client: Its number.

    Returns:
        Views into the three tensors.
    """
    ends = torch.searchsorted(pairs["of"], torch.tensor([client, client + 1]))
    inside = slice(int(ends[0]), int(ends[1]))
    return pairs["to"][inside], pairs["value"][inside]


def dense_row(pairs: Tree, client: int, count: int) -> np.ndarray:
    """A client's values for everybody.

    Args:
        pairs: As ``no_pairs`` begins them.
        client: Its number.
        count: Clients.

    Returns:
        [count], 0 where nothing is known.
    """
    row = np.zeros(count, dtype=pairs["value"].numpy().dtype)
    others, values = row_of(pairs, client)
    row[others.numpy()] = values.numpy()
    return row


def rows_of(pairs: Tree) -> dict[int, dict[int, float]]:
    """client → {other: value}, of clients with at least one pair.

    Args:
        pairs: As ``no_pairs`` begins them.

    Returns:
        Plain numbers, for the record.
    """
    found: dict[int, dict[int, float]] = {}
    for client, other, value in zip(
        *(pairs[name].tolist() for name in ("of", "to", "value")), strict=True
    ):
        found.setdefault(client, {})[other] = value
    return found


def added(pairs: Tree, rows: Rows) -> Tree:
    """Values added to those of the same pairs.

    Args:
        pairs: As ``no_pairs`` begins them.
        rows: Client → (others, values).

    Returns:
        New pairs; the old ones stay.
    """
    of, to, value = _joined(pairs, rows)
    both, place = torch.unique(torch.stack([of, to]), dim=1, return_inverse=True)
    total = torch.zeros(both.shape[1], dtype=value.dtype).index_add(0, place, value)
    return _pairs(both[0], both[1], total)


def replaced(pairs: Tree, rows: Rows) -> Tree:
    """The rows of some clients in the place of those that they had; values of 0 are left out.

    Args:
        pairs: As ``no_pairs`` begins them.
        rows: Client → (others, values).

    Returns:
        New pairs; the old ones stay.
    """
    kept = ~torch.isin(pairs["of"], torch.tensor(list(rows), dtype=torch.int64))
    others = {name: pairs[name][kept] for name in pairs}
    of, to, value = _joined(
        others,
        {client: (to[value != 0], value[value != 0]) for client, (to, value) in rows.items()},
    )
    order = torch.argsort(of, stable=True)
    return _pairs(of[order], to[order], value[order])


def _joined(pairs: Tree, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    of: Iterable[Tensor] = (torch.full_like(to, client) for client, (to, _) in rows.items())
    return (
        torch.cat([pairs["of"], *of]),
        torch.cat([pairs["to"], *(to for to, _ in rows.values())]),
        torch.cat([pairs["value"], *(value for _, value in rows.values())]),
    )


def _pairs(of: Tensor, to: Tensor, value: Tensor) -> Tree:
    return {"of": of.contiguous(), "to": to.contiguous(), "value": value}


def _none() -> Tensor:
    return torch.zeros(0, dtype=torch.int64)
