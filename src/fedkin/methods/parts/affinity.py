"""Who resembles whom: the affinity of clients by their label histograms, and its
Laplacian (PPFL).
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply


def affinity_of(affinity: Any, replies: Mapping[int, Reply], count: int) -> Tensor:
    """W [count, count], float64: cosine similarity of label histograms, zeros, or as given.

    A client whose introduction was lost resembles nobody.
    """
    if affinity == "none":
        return torch.zeros(count, count, dtype=torch.float64)
    if affinity != "label_cosine":
        return torch.tensor(affinity, dtype=torch.float64)
    sent = {
        client: reply.message["coefficients"].to(torch.float64) for client, reply in replies.items()
    }
    rows = torch.stack(
        [sent.get(client, torch.zeros_like(next(iter(sent.values())))) for client in range(count)]
    )
    unit = torch.nn.functional.normalize(rows, dim=1)
    return unit @ unit.T


def laplacian_of(affinity: Tensor) -> Tensor:
    """L = D − W."""
    return torch.diag(affinity.sum(1)) - affinity
