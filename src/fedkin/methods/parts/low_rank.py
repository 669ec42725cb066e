"""Changes of parameters as products of two thin matrices, by as many singular values as hold a
share of the energy.
"""

import torch
from torch import Tensor

from fedkin.core.bounded import UpTo
from fedkin.core.tree import Params, Tree, is_buffer

MATRIX = 2  # axes


def factored(change: Params, energy: float) -> Params:
    """Each matrix U Σ V of a change by the least K with Σ_{k ≤ K} σ_k² ≥ energy · Σ σ_k², at least
    1.

    Args:
        change: By name. Kernels are matrices of their first axis and the others together.
        energy: T, within [0, 1].

    Returns:
        Of a matrix [m, n] the rows (σ_k u_k, v_k), [K, m + n]; what is none as it is.
    """
    return {
        name: _rows(value, energy) if _is_matrix(name, value) else value
        for name, value in change.items()
    }


def multiplied(sent: Params, like: Params) -> Params:
    """What ``factored`` left of a change.

    Args:
        sent: As it gave it.
        like: Parameters of the names and shapes of the change.

    Returns:
        In double precision.
    """
    found = {}
    for name, value in like.items():
        rows = sent[name].double()
        if _is_matrix(name, value):
            rows = (rows[:, : len(value)].T @ rows[:, len(value) :]).reshape(value.shape)
        found[name] = rows
    return found


def expected(like: Params) -> Tree:
    """What the rows of a change of parameters ``like`` may be, for ``expected_update``.

    Args:
        like: Parameters.

    Returns:
        Of a matrix as many rows as its rank can be, or fewer.
    """

    def most(value: Tensor) -> UpTo:
        m, n = len(value), value[0].numel()
        return UpTo(value.new_zeros(()).expand(min(m, n), m + n))

    return {name: most(value) if _is_matrix(name, value) else value for name, value in like.items()}


def _is_matrix(name: str, value: Tensor) -> bool:
    return value.dim() >= MATRIX and value.numel() > 0 and not is_buffer(name)


def _rows(value: Tensor, energy: float) -> Tensor:
    matrix = value.flatten(1).double().cpu()
    if not bool(torch.isfinite(matrix).all()):  # training diverged: whoever checks it says so
        return value.new_full((1, sum(matrix.shape)), torch.nan)
    u, sizes, v = torch.linalg.svd(matrix, full_matrices=False)
    so_far = sizes.square().cumsum(0)
    kept = 1 + int((so_far[:-1] < energy * so_far[-1]).sum())
    return torch.cat([(u * sizes)[:, :kept].T, v[:kept]], 1).to(value)
