"""Who resembles whom: the affinity of clients by their label histograms, and its
Laplacian (PPFL).

Cosines are products of unit rows, W = R Rᵀ: the rows are kept, [clients, classes], and never the
square of the clients. A matrix that was given is kept as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.tree import Tree


def edges(rows: Sequence[Sequence[float]], name: str) -> Tensor:
    """The weights of a graph of clients that was given.

    Args:
        rows: One row a client, of one number for each client.
        name: What messages call it.

    Returns:
        [clients, clients], float64.

    Raises:
        FedkinError: It is not square, not symmetric, or has a negative number.
    """
    square = all(len(row) == len(rows) for row in rows)
    found = torch.tensor(rows, dtype=torch.float64) if square else torch.empty(0)
    if not square or (found < 0).any() or not torch.equal(found, found.T):
        raise FedkinError(
            f"{name}: rows of as many numbers as clients, none negative, the same from k to l as "
            "from l to k"
        )
    return found


def laplacian_of(affinity: Any, replies: Mapping[int, Reply], count: int) -> Tree:
    """L = D − W of the cosine similarities of label histograms, of nothing, or of a given W.

    A client whose introduction was lost resembles nobody.

    Args:
        affinity: "label_cosine", "none", or W [clients, clients], symmetric.
        replies: Introductions, with a histogram each.
        count: Clients.

    Returns:
        ``degree`` [count], the diagonal of D, and W as ``unit`` [count, classes] (W = R Rᵀ) or, if
        it was given, as ``affinity`` [count, count]; float64.
    """
    if affinity not in ("none", "label_cosine"):
        given = torch.tensor(affinity, dtype=torch.float64)
        return {"degree": given.sum(1), "affinity": given}
    if affinity == "none":
        return no_laplacian(count)
    sent = {
        client: reply.message["coefficients"].to(torch.float64) for client, reply in replies.items()
    }
    rows = torch.stack(
        [sent.get(client, torch.zeros_like(next(iter(sent.values())))) for client in range(count)]
    )
    unit = torch.nn.functional.normalize(rows, dim=1)
    return {"degree": unit @ unit.sum(0), "unit": unit}


def no_laplacian(count: int) -> Tree:
    """L of clients of whom none resembles another.

    Args:
        count: Clients.

    Returns:
        As ``laplacian_of``, with no class.
    """
    zero = torch.zeros(count, dtype=torch.float64)
    return {"degree": zero, "unit": zero.new_zeros(count, 0)}


def with_isolated_node(laplacian: Tree) -> Tree:
    """L with a newcomer that resembles nobody.

    Args:
        laplacian: As ``laplacian_of`` gives it.

    Returns:
        The same for count + 1 clients.
    """
    padding = {"degree": (0, 1), "unit": (0, 0, 0, 1), "affinity": (0, 1, 0, 1)}
    return {
        name: torch.nn.functional.pad(value, padding[name]) for name, value in laplacian.items()
    }


def summed(laplacian: Tree, c: Tensor) -> Tensor:
    """What all clients' rows of (LC) share: Rᵀ C [classes, K], or C where W was given.

    Args:
        laplacian: As ``laplacian_of`` gives it.
        c: Memberships [clients, K].

    Returns:
        float64.
    """
    found: Tensor = laplacian["unit"].T @ c.double() if "unit" in laplacian else c.double()
    return found


def pull_of(laplacian: Tree, sums: Tensor, client: int, own: Tensor) -> Tensor:
    """(LC) of a client [K], of C's dtype. ``own``: its row of C. ``sums``: C's ``summed``.

    Args:
        laplacian: As ``laplacian_of`` gives it.
        sums: What ``summed`` gave, once a round.
        client: Its number.
        own: Its row of C [K].

    Returns:
        [K], of ``own``'s dtype.
    """
    w = laplacian["unit" if "unit" in laplacian else "affinity"][client]
    found: Tensor = laplacian["degree"][client] * own - w @ sums
    return found.to(own.dtype)


def laplacian_matrix(laplacian: Tree) -> Tensor:
    """L = D − W [clients, clients]: for who looks at all of it.

    Args:
        laplacian: As ``laplacian_of`` gives it.

    Returns:
        float64.
    """
    unit = laplacian.get("unit")
    w = laplacian["affinity"] if unit is None else unit @ unit.T
    found: Tensor = torch.diag(laplacian["degree"]) - w
    return found
