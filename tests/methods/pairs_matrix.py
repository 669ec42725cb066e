"""Pairs of clients as a matrix, for who looks at all of them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def matrix(pairs: Mapping[str, Any], count: int) -> Tensor:
    """[count, count] of ``parts.fedfomo.pairs``: 0 where nothing is known."""
    of, to, value = (torch.as_tensor(pairs[name]) for name in ("of", "to", "value"))
    found = torch.zeros(count, count, dtype=value.dtype)
    found[of, to] = value
    return found
