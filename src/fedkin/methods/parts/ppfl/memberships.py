"""What PPFL's server knows of memberships: C, the Laplacian L = D − W beside it, and the weights
p_i of clients.

A state is a tree with ``memberships`` C [clients, K], ``laplacian`` L, ``sums`` (what all rows of
(LC) share) and ``shares`` p [clients]. What else stands in it stays as it is.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from fedkin.core.tree import Tree
from fedkin.methods.parts.affinity import no_laplacian, pull_of, summed, with_isolated_node


def even(count: int, models: int, dtype: torch.dtype) -> Tree:
    """The state before anybody is known: memberships are even, and nobody resembles anybody.

    Args:
        count: Clients.
        models: K.
        dtype: Of C.

    Returns:
        ``memberships``, ``laplacian``, ``sums`` and ``shares``.
    """
    c, nothing = torch.full((count, models), 1 / models, dtype=dtype), no_laplacian(count)
    return {
        "memberships": c,
        "laplacian": nothing,
        "sums": summed(nothing, c),
        "shares": torch.ones(count),
    }


def introduced(state: Tree, laplacian: Tree, weight: Mapping[int, float]) -> Tree:
    """The state once clients have introduced themselves; p_i of one that was not heard is 0.

    Args:
        state: As ``even`` gives it.
        laplacian: L, as ``laplacian_of`` gives it.
        weight: Client → p_i before they are normalised, of those that were heard.

    Returns:
        The state with L and p, float64.
    """
    shares = torch.zeros(len(state["memberships"]), dtype=torch.float64)
    shares[list(weight)] = torch.tensor(list(weight.values()), dtype=torch.float64)
    known = {**state, "laplacian": laplacian, "shares": shares / shares.sum()}
    return _with(known, state["memberships"])


def row_of_lc(state: Tree, client: int) -> Tensor:
    """(LC)_i: what draws a client's membership towards those that it resembles.

    Args:
        state: The server's.
        client: Its number.

    Returns:
        [K], of C's dtype.
    """
    return pull_of(state["laplacian"], state["sums"], client, state["memberships"][client])


def renewed(state: Tree, moved: Mapping[int, Tensor]) -> Tree:
    """The state with some rows of C in the place of those that it had.

    Args:
        state: The server's, which is not changed.
        moved: Client → its new membership [K].

    Returns:
        A new state.
    """
    c = state["memberships"].clone()
    for client, own in moved.items():
        c[client] = own
    return _with(state, c)


def with_newcomer(state: Tree) -> Tree:
    """The state with one more client: its membership is even, it resembles nobody, and its p_i is
    the mean.

    Args:
        state: The server's.

    Returns:
        The same for count + 1 clients.
    """
    c, shares = state["memberships"], state["shares"]
    models = c.shape[1]
    wider = {
        **state,
        "laplacian": with_isolated_node(state["laplacian"]),
        "shares": torch.cat([shares, shares.mean()[None]]),
    }
    return _with(wider, torch.cat([c, c.new_full((1, models), 1 / models)]))


def _with(state: Tree, c: Tensor) -> Tree:
    return {**state, "memberships": c, "sums": summed(state["laplacian"], c)}
