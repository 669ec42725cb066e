"""How exactly models train."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from fedkin.core.model import Model
from fedkin.core.tree import Params, dtype_of

Precision = Literal["float32", "bfloat16"]


def lowered(model: Model, precision: Precision) -> Model:
    """The model whose training passes have products and convolutions in ``precision``, by torch's
    autocast.

    Parameters, losses, sums and evaluation stay what they are. bfloat16 has the range of float32,
    so that nothing needs scaling, and 8 bits of its 24.

    Args:
        model: Any one.
        precision: "float32" leaves the model as it is.

    Returns:
        A model of the same parameters, which stay in their own dtype.
    """
    if precision == "float32" or model.learner is not None:
        return model

    def lower(of: Callable[[Params, Tensor], Tensor]) -> Callable[[Params, Tensor], Tensor]:
        def passed(w: Params, x: Tensor) -> Tensor:
            with torch.autocast(x.device.type, torch.bfloat16, cache_enabled=False):
                out = of(w, x)
            return out.to(dtype_of(w))

        return passed

    head = model.head and model.head._replace(train_features=lower(model.head.train_features))
    return model._replace(train_outputs=lower(model.train_outputs), head=head)
