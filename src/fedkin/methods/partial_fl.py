"""Partial personalization (Pillutla et al., 2022): some layers are personal, the others are shared.

min over u, v_1 … v_n of Σ p_i f_i(u, v_i). FedAlt (Algorithm 2, LocalAlt) and FedSim (LocalSim).
"""

from typing import Literal

from torch import Tensor

from fedkin.core.aggregation import Weights
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Layers, Positive, declared
from fedkin.core.method import (
    ClientContext,
    Method,
)
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, is_buffer
from fedkin.methods.parts.split_model import Work, part_step, split_model

__all__ = ["partial_fl", "simultaneous"]


@declared
def partial_fl(
    *,
    lr: float,
    personal: Layers = "last",
    schedule: Literal["alternate", "simultaneous"] = "alternate",
    personal_lr: Positive | None = None,
    personal_steps: Count | None = None,
    weights: Weights = "samples",
) -> Method:
    """Partial personalization: a client keeps its personal layers v_i and sends the shared ones u,
    which are averaged.

    Readings: all v_i start from the same initial parameters. FedAlt's two halves draw mini-batches
    of their own. Running statistics belong to their layer, and those of layers that stand still do
    too.

    Deviations: the paper's server takes the plain mean of a sample of clients; here it is by
    samples by default. The authors' code weighs u by the mini-batches of an epoch. One learning
    rate, of a schedule within the round, serves u and v_i there.

    Args:
        lr: Learning rate of u.
        personal: Which layers are personal, by name: prefixes of parameter names, "last" (the
            output layer), "first", "all", or () for none.
        schedule: "alternate" is FedAlt (steps of v_i with the received u, then steps of u with the
            new v_i), "simultaneous" FedSim (one gradient a step moves both).
        personal_lr: Learning rate of v_i; lr if not given.
        personal_steps: FedAlt's steps of v_i; without it as many as [train] says for u.
        weights: "samples" or "uniform": the weights of the mean of u.

    Raises:
        FedkinError: ``personal_steps`` is given to a schedule that has none.
    """
    if personal_steps is not None and schedule == "simultaneous":
        raise FedkinError("partial_fl: personal_steps belongs to schedule 'alternate'")
    rates = lr, lr if personal_lr is None else personal_lr
    work = alternate(*rates, personal_steps) if schedule == "alternate" else simultaneous(*rates)
    return split_model(name="partial_fl", personal=personal, work=work, weights=weights)


def joint_step(
    model: Model, parts: tuple[Params, Params], batch: Batch, personal_rate: Tensor, rate: Tensor
) -> tuple[Params, Params]:
    """One gradient, taken at (v, u), moves both."""
    mine, ours = parts
    slope = gradient(model.loss)({**mine, **ours}, batch)
    return descend(mine, slope, personal_rate, "personal"), descend(ours, slope, rate)


def simultaneous(lr: float, personal_lr: float) -> Work:
    """FedSim's local work (LocalSim).

    Args:
        lr: Of the shared layers.
        personal_lr: Of the personal ones.

    Returns:
        A function of (v_i, u, the client's data) that gives both anew.
    """

    def work(mine: Params, ours: Params, data: ClientContext) -> tuple[Params, Params]:
        both: tuple[Params, Params] = scan(
            joint_step, (mine, ours), data.batches(), personal_lr * data.decay, lr * data.decay
        )
        return both

    return work


def alternate(lr: float, personal_lr: float, personal_steps: int | None) -> Work:
    """FedAlt's local work (LocalAlt)."""

    def work(mine: Params, ours: Params, data: ClientContext) -> tuple[Params, Params]:
        if _trains(mine):
            batches = data.batches(purpose="personal", steps=personal_steps)
            mine = scan(part_step, mine, batches, ours, personal_lr * data.decay)
        if _trains(ours):
            ours = scan(part_step, ours, data.batches(), mine, lr * data.decay)
        return mine, ours

    return work


def _trains(part: Params) -> bool:
    """Whether there are weights in it: nothing else has a gradient."""
    return not all(is_buffer(name) for name in part)
