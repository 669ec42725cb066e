"""Which tensors fedkin's own operators take."""

from typing import Any, TypeGuard

import torch
from torch import Tensor

FEW = 16  # channels, from which on a library's vectors are full: it may lay them side by side


def plain(tensor: Any) -> TypeGuard[Tensor]:
    """Whether it is a tensor of float32 in main memory, with something in it."""
    if not isinstance(tensor, Tensor) or tensor.layout is not torch.strided:
        return False
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.numel() > 0
