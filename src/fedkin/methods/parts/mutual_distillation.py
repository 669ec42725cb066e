"""Mutual distillation of FedKD: a mentor and a mentee that learn from each other's predictions and
features.
"""

import torch
from torch import Tensor

from fedkin.core.method import likelihood
from fedkin.core.model import Batch, Model, collecting_buffers, head_of
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import Params
from fedkin.methods.parts.extra_parameters import without

MAP = "fedkd:map"  # W_h beside the mentor; no parameter of a torch module begins so


def objective(
    own: Params, model: Model, batch: Batch, other: Params, distill: Tensor, hidden: Tensor
) -> Tensor:
    """The loss of the model that moves: its own, and how far it is from the other one, divided by
    the losses of both.

    Args:
        own: What moves: the mentor, which has the map beside it, or the mentee.
        model: The architecture of both.
        batch: A mini-batch.
        other: The one of the two that stands still.
        distill: What KL(other ‖ own) counts.
        hidden: What the squared distance of features counts.

    Returns:
        A 0-d tensor.
    """
    head = head_of(model)
    h = head.train_features(without(own, MAP), batch.x)
    with collecting_buffers():  # running statistics move with their own model
        there = head.train_features(without(other, MAP), batch.x)
    apart = h - there @ own[MAP].T if MAP in own else there - h @ other[MAP].T
    scores = head.scores(own, h), head.scores(other, there)
    mine, theirs = ((model.family.nll(z, batch.y) * batch.weight).sum() for z in scores)
    said, heard = (likelihood(model, z) for z in scores)
    rows = distill * (heard.exp() * (heard - said)).sum(1) + hidden * apart.square().mean(1)
    both = (mine + theirs).clamp_min(torch.finfo(rows.dtype).eps)  # 0 where all is fitted
    return mine + (rows * batch.weight).sum() / both


def mutual_step(
    model: Model,
    both: tuple[Params, Params],
    batch: Batch,
    distill: Tensor,
    hidden: Tensor,
    personal_lr: Tensor,
    lr: Tensor,
) -> tuple[Params, Params]:
    """Mentor and mentee by their own losses, both at where they stood.

    Args:
        model: The architecture of both.
        both: The mentor with its map, and the mentee.
        batch: A mini-batch.
        distill: What the divergences count.
        hidden: What the distance of features counts.
        personal_lr: Learning rate of the mentor and the map.
        lr: Learning rate of the mentee.

    Returns:
        Both after a step.
    """
    mentor, mentee = both
    slope = gradient(objective)(mentee, model, batch, mentor, distill, hidden)
    learned = gradient(objective)(mentor, model, batch, mentee, distill, hidden)
    return descend(mentor, learned, personal_lr, "personal"), descend(mentee, slope, lr)
