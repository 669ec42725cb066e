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


def unstacked(theta: Params, split: Split) -> Params:
    """θ with every canonical model's parameters under names of their own.

    A gradient is taken at these: a linear layer's weights are then parameters themselves and no
    parts of one, as DP-SGD wants to know.

    Args:
        theta: Shared parameters, and canonical ones [K, …].
        split: Which are canonical.

    Returns:
        "0 name", "1 name", … of canonical parameters; shared ones as they are.
    """
    names = split(theta)
    rows = {n: v.unbind() for n, v in theta.items() if n in names}
    own = {_own(k, n): row for n, each in rows.items() for k, row in enumerate(each)}
    return own | {n: v for n, v in theta.items() if n not in names}


def stacked(parts: Params, theta: Params) -> Params:
    """The inverse of ``unstacked``.

    Args:
        parts: As ``unstacked`` has it.
        theta: What they are parts of: its names.

    Returns:
        Shared parameters, and canonical ones [K, …].
    """
    return {
        n: parts[n] if n in parts else torch.stack([parts[_own(k, n)] for k in range(len(v))])
        for n, v in theta.items()
    }


def _own(k: int, name: str) -> str:
    return f"{k} {name}"


def _one(model: Model, parts: Params, k: int) -> Params:
    """The model made of θ_com and canonical model k."""
    return {n: parts[n] if n in parts else parts[_own(k, n)] for n in model.initial}


def _blend(model: Model, theta: Params, c: Tensor) -> Params:
    """The model made of θ_com and Σ c_k θ_k (figure 2b); canonical parameters have an axis more."""
    return {
        n: v if v.dim() == model.initial[n].dim() else torch.tensordot(c, v, dims=1)
        for n, v in theta.items()
    }


def mixed_outputs(
    model: Model, parts: Params, c: Tensor, x: Tensor, y: Tensor, forward: Forward
) -> Tensor:
    """Structure 1: negative log-likelihood [batch] of Σ c_k r(θ_k) (figure 2a), or of Σ c_k
    g⁻¹(xθ_k) (eq. 11).

    Args:
        model: The client's architecture.
        parts: θ, ``unstacked``.
        c: The membership [K].
        x: Samples [batch, …].
        y: Labels [batch].
        forward: (parameters, x) → linear predictors.

    Returns:
        One number a sample.
    """
    if model.family.name == "categorical":
        return mixed_logits(model, parts, c, x, y, forward)
    each = torch.stack([forward(_one(model, parts, k), x) for k in range(len(c))])
    return model.family.nll_of_mean(torch.tensordot(c, model.family.mean(each), dims=1), y)


def mixed_logits(
    model: Model, parts: Params, c: Tensor, x: Tensor, y: Tensor, forward: Forward
) -> Tensor:
    """Structure 1: negative log-likelihood [batch] at the linear predictors (logits) Σ
    c_k r(θ_k).

    Args:
        model: The client's architecture.
        parts: θ, ``unstacked``.
        c: The membership [K].
        x: Samples [batch, …].
        y: Labels [batch].
        forward: (parameters, x) → linear predictors.

    Returns:
        One number a sample.
    """
    each = torch.stack([forward(_one(model, parts, k), x) for k in range(len(c))])
    return model.family.nll(torch.tensordot(c, each, dims=1), y)


def mixed_parameters(
    model: Model, theta: Params, c: Tensor, x: Tensor, y: Tensor, forward: Forward
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

    Returns:
        One number a sample.
    """
    nll: Tensor = model.family.nll(forward(_blend(model, theta, c), x), y)
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
        return likelihood(model, model.outputs(_blend(model, theta, c), x))
    parts = unstacked(theta, split)
    each = torch.stack([model.outputs(_one(model, parts, k), x) for k in range(len(c))])
    if mixing == "logits" or model.family.name == "categorical":
        return likelihood(model, torch.tensordot(c, each, dims=1))
    means: Tensor = torch.tensordot(c, model.family.mean(each), dims=1)
    if not model.family.classes:
        return means
    both = torch.cat([1 - means, means], 1)
    tiny = torch.finfo(means.dtype).tiny
    return both.clamp_min(tiny).log()
