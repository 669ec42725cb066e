"""FedTGP's server: prototypes that a small network makes, and the contrast that trains it."""

import numpy as np
import torch
from torch import Tensor

from fedkin.core.tree import Params
from fedkin.methods.parts.extra_parameters import uniform_layer


def generator(classes: int, size: int, dtype: torch.dtype, draw: torch.Generator) -> Params:
    """P̊ [classes, size], standard normal, and F: two linear layers, uniform within 1/√size.

    Args:
        classes: How many there are.
        size: Numbers in a row of features.
        dtype: Of the parameters.
        draw: What draws them.

    Returns:
        Parameters by name, P̊ as "raw".
    """
    drawn = {
        "raw": torch.randn(classes, size, generator=draw, dtype=torch.float64),
        "hidden.weight": uniform_layer(draw, size, size, size),
        "hidden.bias": uniform_layer(draw, size, size),
        "out.weight": uniform_layer(draw, size, size, size),
        "out.bias": uniform_layer(draw, size, size),
    }
    return {name: value.to(dtype) for name, value in drawn.items()}


def generated(w: Params) -> Tensor:
    """P̂ = F(P̊) [classes, size].

    Args:
        w: As ``generator`` gives them.

    Returns:
        One row a class.
    """
    hidden = torch.relu(w["raw"] @ w["hidden.weight"].T + w["hidden.bias"])
    return hidden @ w["out.weight"].T + w["out.bias"]


def margin_of(sent: Tensor, has: Tensor, most: float) -> float:
    """δ = min(max_{c ≠ c'} ‖Q^c − Q^c'‖, τ), over the classes that somebody sent.

    Args:
        sent: P_i^c [clients, classes, size].
        has: who sent which class [clients, classes].
        most: τ.

    Returns:
        The margin of a round, in the units of features.
    """
    counts = has.sum(0)
    means = (sent * has[:, :, None]).sum(0)[counts > 0] / counts[counts > 0][:, None]
    return min(float((means[:, None] - means).norm(dim=2).max()), most)


def contrast(w: Params, points: Tensor, classes: Tensor, delta: float) -> Tensor:
    """The mean over sent prototypes [rows, size] of −log of the share of their own class.

    Args:
        w: As ``generator`` gives them.
        points: P_i^c that clients sent.
        classes: [rows] of which class each is.
        delta: The margin δ.

    Returns:
        A 0-d tensor, in nats.
    """
    apart = (points[:, None] - generated(w)).norm(dim=2)
    own = (classes[:, None] == torch.arange(apart.shape[1])).to(apart.dtype)
    return torch.nn.functional.cross_entropy(-(apart + delta * own), classes)


def separated(
    w: Params,
    sent: Tensor,
    has: Tensor,
    rng: np.random.Generator,
    epochs: int,
    size: int,
    lr: float,
    most: float,
) -> Params:
    """w after SGD on the prototypes that were sent, ``size`` of them a step, in rng's order.

    Args:
        w: As ``generator`` gives them.
        sent: P_i^c [clients, classes, size].
        has: Who sent which class [clients, classes].
        rng: What orders them.
        epochs: Passes over what was sent.
        size: Prototypes of a step.
        lr: Learning rate.
        most: τ.

    Returns:
        Parameters by name; the old ones stay.
    """
    clients, classes = torch.nonzero(has, as_tuple=True)
    delta = margin_of(sent, has, most)
    with torch.inference_mode(False), torch.enable_grad():
        points, labels = sent[clients, classes].clone(), classes.clone()
        w = {name: value.clone().requires_grad_() for name, value in w.items()}
        moving = list(w.values())
        for _ in range(epochs):
            order = torch.from_numpy(rng.permutation(len(points)))
            for rows in torch.split(order, size):
                loss = contrast(w, points[rows], labels[rows], delta)
                slopes = torch.autograd.grad(loss, moving)
                with torch.no_grad():
                    for value, slope in zip(moving, slopes, strict=True):
                        value.add_(slope, alpha=-lr)
        return {name: value.detach() for name, value in w.items()}
