"""What a model's outputs mean: the likelihood they parametrise (classification and generalized
linear models).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class Family(NamedTuple):
    """A likelihood.

    ``outputs`` are linear predictors [batch, C] (logits, or X·θ), ``y`` the targets [batch].
    """

    name: str
    nll: Callable[[Tensor, Tensor], Tensor]
    """(outputs, y) → negative log-likelihood of each sample [batch]."""
    mean: Callable[[Tensor], Tensor]
    """The inverse link g⁻¹: outputs → class probabilities [batch, C], or means [batch, 1]."""
    nll_of_mean: Callable[[Tensor, Tensor], Tensor]
    """(means, y) → negative log-likelihood [batch]: for mixtures of predictions."""
    classes: bool
    """True where predictions are class probabilities, so that accuracy is defined."""
    unit: float = 1.0
    """The factor of ``nll`` and ``nll_of_mean`` where they are reported: it makes their unit that
    of the labels.
    """
    offset: float = 0.0
    """Gaussian means are offset + scale · outputs."""
    scale: float = 1.0

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Class probabilities, one column a class: of a single logit those of both classes.

        Args:
            outputs: Linear predictors [batch, outputs].

        Returns:
            [batch, classes], rows on the simplex; of numbers the means [batch, 1].
        """
        if self.classes and outputs.shape[1] == 1:
            outputs = torch.cat([-outputs, outputs], 1)
        return self.mean(outputs)


def _pick(values: Tensor, y: Tensor) -> Tensor:
    return values.gather(1, y[:, None])[:, 0]


def _safe_log(p: Tensor) -> Tensor:
    return torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))


def _bernoulli_nll(outputs: Tensor, y: Tensor) -> Tensor:
    eta = outputs[:, 0]
    return F.softplus(eta) - y.to(eta.dtype) * eta


def _bernoulli_mean_nll(means: Tensor, y: Tensor) -> Tensor:
    p, t = means[:, 0], y.to(means.dtype)
    return -(t * _safe_log(p) + (1 - t) * _safe_log(1 - p))


CATEGORICAL = Family(
    "categorical",
    nll=lambda outputs, y: -_pick(torch.log_softmax(outputs, 1), y),
    mean=lambda outputs: torch.softmax(outputs, 1),
    nll_of_mean=lambda means, y: -_pick(_safe_log(means), y),
    classes=True,
)
BERNOULLI = Family("bernoulli", _bernoulli_nll, torch.sigmoid, _bernoulli_mean_nll, classes=True)
GAUSSIAN = Family(
    "gaussian",  # unit variance, constants left out: ½(y − ŷ)²
    nll=lambda outputs, y: 0.5 * (outputs[:, 0] - y.to(outputs.dtype)).square(),
    mean=lambda outputs: outputs,
    nll_of_mean=lambda means, y: 0.5 * (means[:, 0] - y.to(means.dtype)).square(),
    classes=False,
)
POISSON = Family(
    "poisson",  # log link; the constant log y! is left out
    nll=lambda outputs, y: torch.exp(outputs[:, 0]) - y.to(outputs.dtype) * outputs[:, 0],
    mean=torch.exp,
    nll_of_mean=lambda means, y: means[:, 0] - y.to(means.dtype) * _safe_log(means[:, 0]),
    classes=False,
)


def standardised(offset: float, scale: float) -> Family:
    """The Gaussian of labels that are trained as (y − offset) / scale; its means are in the labels'
    own units.

    Args:
        offset: The mean of the labels, in their unit.
        scale: Their standard deviation, above 0.

    Returns:
        A Gaussian family whose mean is in the labels' unit and whose loss is of standardized
        labels.
    """
    return Family(
        "gaussian",
        nll=lambda outputs, y: GAUSSIAN.nll(outputs, (y - offset) / scale),
        mean=lambda outputs: offset + scale * outputs,
        nll_of_mean=lambda means, y: GAUSSIAN.nll_of_mean(means, y) / scale**2,
        classes=False,
        unit=scale**2,
        offset=offset,
        scale=scale,
    )


FAMILIES = {family.name: family for family in (CATEGORICAL, BERNOULLI, GAUSSIAN, POISSON)}
