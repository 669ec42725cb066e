"""Models that are no torch modules: what fits and predicts, as a model."""

import numpy as np
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL, Family
from fedkin.core.model import RAW, Inputs, Learner, Model
from fedkin.core.tree import Params
from fedkin.transforms.black_box_models import arrays, tensors

__all__ = ["from_learner"]

TINY = 1e-7  # the least probability that is passed on, for its logarithm


def from_learner(
    name: str, learner: Learner, inputs: Inputs = RAW, family: Family = CATEGORICAL
) -> Model:
    """A learner as a Model: its parameters are its state, its outputs the logarithms of its
    probabilities.

    Args:
        name: Of the model.
        learner: How it starts, fits and predicts.
        inputs: How samples enter it.
        family: What predictions are.

    Returns:
        A model without gradients, whose ``learner`` is set.
    """
    like = torch.zeros((), dtype=torch.float32)

    def outputs(w: Params, x: Tensor) -> Tensor:
        found = torch.from_numpy(
            np.asarray(learner.predict(arrays(w), inputs(x, like).numpy()), dtype=np.float32)
        )
        return found.clamp_min(TINY).log()

    def no_gradients(w: Params, x: Tensor) -> Tensor:
        raise FedkinError(f"model {name!r} is no torch module and has no gradients")

    initial = tensors(learner.start())
    return Model(
        name,
        initial,
        family,
        outputs,
        no_gradients,
        pads=False,
        learner=(learner, inputs),
        why_no_head="it is no torch module",
    )
