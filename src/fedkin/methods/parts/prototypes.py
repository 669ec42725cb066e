"""Prototypes: the mean features of each class at a client, and predictions by them."""

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, FederationInit, plain_prediction
from fedkin.core.model import Model, head_of
from fedkin.core.tree import Params, Tree

LEAST = -80.0  # log-probability of a class without a prototype: finite, and in float32 next to none


def of_classes(features: Tensor, y: Tensor, counts: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """(Σ of the features of each class [classes, d], how much counts there [classes]).

    Args:
        features: [rows, d].
        y: their classes [rows].
        counts: what each row counts [rows], 1 or 0.
        classes: how many there are.

    Returns:
        Two sums, of the features' dtype.
    """
    member = (y[:, None] == torch.arange(classes, device=y.device)).to(features.dtype)
    member = member * counts[:, None]
    return member.T @ features, member.sum(0)


def prototypes(data: ClientContext, w: Params) -> tuple[Tensor, Tensor]:
    """(C_i [classes, d], |D_i,j| [classes]) of the client's training data, in evaluation mode; a
    class that it has not is a row of zeros (FedProto, eq. 3).

    Args:
        data: Of the client.
        w: Its parameters.

    Returns:
        Means, and how many samples each is of.

    Raises:
        ValueError: The client has no training sample.
    """
    sums, counts = None, None
    with torch.inference_mode():
        for batch in data.whole("train"):
            found = head_of(data.model).features(w, batch.x)
            ones = torch.ones(len(found), dtype=found.dtype)
            part = of_classes(found, batch.y, ones, data.info.classes)
            sums = part[0] if sums is None else sums + part[0]
            counts = part[1] if counts is None else counts + part[1]
    if sums is None or counts is None:
        raise ValueError("a client without training samples has no prototypes")
    return sums / counts.clamp_min(1)[:, None], counts


def nearest(model: Model, view: Tree, x: Tensor) -> Tensor:
    """log softmax(−‖f(x) − C̄^(j)‖²) [batch, classes]; the head's where there are no prototypes.

    Args:
        model: The client's architecture.
        view: "parameters", and "centroids" with "coefficients" once there are any.
        x: Samples [batch, …].

    Returns:
        As ``Method.predict`` has it.
    """
    w = view["parameters"]
    if "centroids" not in view:
        return plain_prediction(model, w, x)
    found = head_of(model).features(w, x)
    apart = (found[:, None] - view["centroids"]).square().sum(2)
    log_predicted = torch.where(view["coefficients"] > 0, -apart, -torch.inf).log_softmax(1)
    return log_predicted.clamp_min(LEAST)


def size_of_features(start: FederationInit, method: str) -> int:
    """Numbers in a row of features, the same for all architectures.

    Args:
        start: Of the federation, with a head for each architecture.
        method: Its name, for the message.

    Returns:
        d.

    Raises:
        FedkinError: Architectures have features of different sizes.
    """
    sizes = {name: head.size for name, head in start.heads.items()}
    if len(set(sizes.values())) != 1:
        each = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise FedkinError(
            f"{method} compares features of different models, which must be equally many: {each}; "
            "choose layers of one width before the heads"
        )
    return next(iter(sizes.values()))
