"""Whether a model can be trained by a mini-batch of one sample: some batch norms cannot."""

import torch
from torch import Tensor

from fedkin.core.model import Model

REFUSED = "more than 1 value per channel"  # torch's words, of batch norm and instance norm


def refuses_one_sample(model: Model, x: Tensor) -> bool:
    """Whether a step of one sample ends in an error, since a layer normalizes over samples.

    Args:
        model: With its first parameters.
        x: Some samples [rows, …]; of none nothing is known.

    Returns:
        False where a layer has several values a channel in one sample, as over pixels.
    """
    if model.learner is not None or not len(x):
        return False
    with torch.no_grad(), torch.random.fork_rng(devices=[]):  # a dropout draws
        try:
            model.train_outputs(model.initial, x[:1])
        except ValueError as error:
            return REFUSED in str(error)
    return False
