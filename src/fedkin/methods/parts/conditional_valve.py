"""GPFL's modules beside the model: a conditional valve, which moves features, and embeddings of
classes.
"""

import torch
from torch import Tensor
from torch.nn import functional

from fedkin.core.model import Batch, Model, head_of
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import Params
from fedkin.methods.parts.extra_parameters import uniform_layer, without

BESIDE = "gpfl:"  # no parameter of a torch module begins so
CLASSES = BESIDE + "classes"


def modules(classes: int, size: int, dtype: torch.dtype, draw: torch.Generator) -> Params:
    """The valve's two layers, uniform within 1/√size, with plain normalizations; embeddings
    [classes, size], standard normal.

    Args:
        classes: How many there are.
        size: K, numbers in a row of features.
        dtype: Of the parameters.
        draw: What draws them.

    Returns:
        Parameters by name.
    """
    made = {CLASSES: torch.randn(classes, size, generator=draw, dtype=torch.float64).to(dtype)}
    for part in ("scale", "shift"):
        made[f"{BESIDE}{part}.weight"] = uniform_layer(draw, size, size, size).to(dtype)
        made[f"{BESIDE}{part}.bias"] = uniform_layer(draw, size, size).to(dtype)
        made[f"{BESIDE}{part}.norm.weight"] = torch.ones(size, dtype=dtype)
        made[f"{BESIDE}{part}.norm.bias"] = torch.zeros(size, dtype=dtype)
    return made


def moved(w: Params, found: Tensor, condition: Tensor) -> Tensor:
    """ReLU((γ + 1) ∘ h + β) [rows, K], γ and β what the valve's layers make of a condition.

    Args:
        w: Parameters that hold the valve.
        found: Features h [rows, K].
        condition: [K].

    Returns:
        Not negative.
    """

    def layer(part: str) -> Tensor:
        weight, bias = w[f"{BESIDE}{part}.weight"], w[f"{BESIDE}{part}.bias"]
        norm = w[f"{BESIDE}{part}.norm.weight"], w[f"{BESIDE}{part}.norm.bias"]
        return functional.layer_norm(torch.relu(weight @ condition + bias), condition.shape, *norm)

    return torch.relu((layer("scale") + 1) * found + layer("shift"))


def objective(
    w: Params,
    model: Model,
    batch: Batch,
    embeddings: Tensor,
    own: Tensor,
    common: Tensor,
    lam: Tensor,
    mu: Tensor,
) -> Tensor:
    """ℓ of the features moved for the client; for those moved for all, cross-entropy of their
    cosines with the classes' embeddings, and λ times their distance to the received one of their
    class; μ/2 times the squares of valve and embeddings.

    Args:
        w: The model, the valve and the embeddings, which descend.
        model: The client's architecture.
        batch: One mini-batch.
        embeddings: As received [classes, K].
        own: The client's condition p_i [K].
        common: The condition g of all clients [K].
        lam: λ.
        mu: μ.

    Returns:
        A 0-d tensor.
    """
    head = head_of(model)
    found = head.train_features(without(w, BESIDE), batch.x)
    rows = model.family.nll(head.scores(w, moved(w, found, own)), batch.y)
    guided = moved(w, found, common)
    angles = functional.normalize(guided, dim=1) @ functional.normalize(w[CLASSES], dim=1).T
    rows = rows + functional.cross_entropy(angles, batch.y, reduction="none")
    apart: Tensor = torch.linalg.vector_norm(guided - embeddings[batch.y], dim=1)
    rows = rows + lam * apart
    squares = [value.square().sum() for name, value in w.items() if name.startswith(BESIDE)]
    return (rows * batch.weight).sum() + mu / 2 * torch.stack(squares).sum()


def guided_step(
    model: Model,
    w: Params,
    batch: Batch,
    embeddings: Tensor,
    own: Tensor,
    common: Tensor,
    lam: Tensor,
    mu: Tensor,
    lr: Tensor,
) -> Params:
    """One step of the model, the valve and the embeddings.

    Args:
        model: The client's architecture.
        w: What descends.
        batch: One mini-batch.
        embeddings: As received [classes, K].
        own: The client's condition p_i [K].
        common: The condition g of all clients [K].
        lam: λ.
        mu: μ.
        lr: Learning rate.

    Returns:
        The new w.
    """
    slope = gradient(objective)(w, model, batch, embeddings, own, common, lam, mu)
    return descend(w, slope, lr)
