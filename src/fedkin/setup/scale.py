"""[data] mean = "auto": pixels enter a model around zero, as those of the training rows lie."""

import numpy as np
import torch

from fedkin.data.population import Population
from fedkin.runs.spec import Spec

LOOKED_AT = 5000  # pictures, evenly chosen among the training rows of all clients
DIGITS = 3  # that are kept of the scale, so that it can be read


def with_scale(spec: Spec, population: Population) -> Spec:
    """The specification with the mean and the standard deviation of each channel in the place of
    "auto"; without a scale where samples are no pictures, or nobody here sees them.

    Args:
        spec: With "auto", or with numbers, which stay.
        population: Whose training rows are looked at; no validation or test row is.

    Returns:
        A copy whose mean and std are numbers, one a channel, or ().
    """
    if spec.data.mean != "auto":
        return spec
    mean, std = _of_pixels(population) or ((), ())
    return spec.replace("data", mean=mean, std=std)


def _of_pixels(population: Population) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """(mean, standard deviation) of every channel, in [0, 1]."""
    if population.x.dtype != torch.uint8 or population.x.dim() != 4:
        return None
    rows = np.concatenate(population.train)
    if not len(rows) or rows.max() >= len(population.x):  # where nodes keep their data
        return None
    rows = np.sort(rows)[:: -(-len(rows) // LOOKED_AT)]
    pixels = population.x[torch.from_numpy(rows)].double().transpose(0, 1).flatten(1) / 255
    mean = tuple(round(float(each), DIGITS) for each in pixels.mean(1))
    # a channel of one colour keeps its unit
    std = tuple(round(float(each), DIGITS) or 1.0 for each in pixels.std(1))
    return mean, std
