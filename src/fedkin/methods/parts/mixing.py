"""How PPFL mixes canonical models by a membership vector: their outputs, their logits, or their
parameters.

θ holds canonical parameters stacked along a first axis [K, …], and shared ones as they are. Mixing
outputs after every affine layer would be mixing parameters, for such a layer is linear in them.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fedkin.core.method import likelihood
from fedkin.core.model import Model
from fedkin.core.tree import Params, Tree

Split = Callable[[Params], frozenset[str]]  # θ → the names of the canonical parameters
Forward = Callable[[Params, Tensor], Tensor]


def _one(theta: Params, k: int, split: Split) -> Params:
    """The model made of θ_com and canonical model k."""
    names = split(theta)
    return {name: value[k] if name in names else value for name, value in theta.items()}


def _blend(theta: Params, c: Tensor, split: Split) -> Params:
    """The model made of θ_com and Σ c_k θ_k (figure 2b)."""
    names = split(theta)
    return {n: torch.tensordot(c, v, dims=1) if n in names else v for n, v in theta.items()}


def mixed_outputs(
    model: Model, theta: Params, c: Tensor, x: Tensor, y: Tensor, forward: Forward, split: Split
) -> Tensor:
    """Structure 1: negative log-likelihood [batch] of Σ c_k r(θ_k) (figure 2a), or of Σ c_k
    g⁻¹(xθ_k) (eq. 11).

    Args:
        model: The client's architecture.
        theta: θ: shared layers, and canonical ones [K, …].
        c: The membership [K].
        x: Samples [batch, …].
        y: Labels [batch].
        forward: (parameters, x) → linear predictors.
        split: Which layers are canonical.

    Returns:
        One number a sample.
    """
    if model.family.name == "categorical":
        return mixed_logits(model, theta, c, x, y, forward, split)
    each = torch.stack([forward(_one(theta, k, split), x) for k in range(len(c))])
    return model.family.nll_of_mean(torch.tensordot(c, model.family.mean(each), dims=1), y)


def mixed_logits(
    model: Model, theta: Params, c: Tensor, x: Tensor, y: Tensor, forward: Forward, split: Split
) -> Tensor:
    """Structure 1: negative log-likelihood [batch] at the linear predictors (logits) Σ
    c_k r(θ_k).

    Args:
        model: The client's architecture.
        theta: θ: shared layers, and canonical ones [K, …].
        c: The membership [K].
        x: Samples [batch, …].
        y: Labels [batch].
        forward: (parameters, x) → linear predictors.
        split: Which layers are canonical.

    Returns:
        One number a sample.
    """
    each = torch.stack([forward(_one(theta, k, split), x) for k in range(len(c))])
    return model.family.nll(torch.tensordot(c, each, dims=1), y)


def mixed_parameters(
    model: Model, theta: Params, c: Tensor, x: Tensor, y: Tensor, forward: Forward, split: Split
) -> Tensor:
    """Structure 2: negative log-likelihood [batch] of the model with parameters Σ c_k
    θ_k (eq. 12).

    Args:
        model: The client's architecture.
        theta: θ: shared layers, and canonical ones [K, …].
        c: The membership [K].
        x: Samples [batch, …].
        y: Labels [batch].
        forward: (parameters, x) → linear predictors.
        split: Which layers are canonical.

    Returns:
        One number a sample.
    """
    nll: Tensor = model.family.nll(forward(_blend(theta, c, split), x), y)
    return nll


def prediction(
    model: Model, view: Tree, x: Tensor, structure: int, split: Split, mixing: str
) -> Tensor:
    """What a client predicts with its membership: log-probabilities [batch, classes], or means
    [batch, 1].

    Args:
        model: The client's architecture.
        view: "theta" and "membership".
        x: Samples [batch, …].
        structure: 1 mixes outputs, 2 parameters.
        split: Which layers are canonical.
        mixing: "means" or "logits", of structure 1.

    Returns:
        As ``Method.predict`` has it.
    """
    theta, c = view["theta"], view["membership"]
    if structure == 2:
        return likelihood(model, model.outputs(_blend(theta, c, split), x))
    each = torch.stack([model.outputs(_one(theta, k, split), x) for k in range(len(c))])
    if mixing == "logits" or model.family.name == "categorical":
        return likelihood(model, torch.tensordot(c, each, dims=1))
    means: Tensor = torch.tensordot(c, model.family.mean(each), dims=1)
    if not model.family.classes:
        return means
    both = torch.cat([1 - means, means], 1)
    tiny = torch.finfo(means.dtype).tiny
    return both.clamp_min(tiny).log()
