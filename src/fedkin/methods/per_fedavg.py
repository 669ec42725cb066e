"""Per-FedAvg (Fallah, Mokhtari & Ozdaglar, 2020): a model from which one gradient step at home
leads far. Algorithm 1.

The objective is the loss after that step, F_i(w) = f_i(w − α∇f_i(w)); its gradient is
(I − α∇²f_i(w)) ∇f_i(w − α∇f_i(w)).
"""

from typing import Literal

from torch import Tensor

from fedkin.core.hyperparameters import Count, NotNegative, Positive, Weights, declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan, sgd_step
from fedkin.core.optimizers import PLAIN
from fedkin.core.tree import Params, Tree, is_buffer
from fedkin.methods.fedavg import fedavg

__all__ = ["per_fedavg"]

Three = tuple[tuple[Batch, Batch], Batch]  # (D, D'), D''


def _ahead(model: Model, w: Params, inner: Batch, outer: Batch, alpha: Tensor) -> Params:
    """∇f(w − α∇f(w; D); D')."""
    slope = gradient(model.loss)
    return slope(_along(w, slope(w, inner), -alpha), outer)


def first_order(
    model: Model, w: Params, batches: Three, beta: Tensor, alpha: Tensor, delta: Tensor
) -> Params:
    """w ← w − β v, v = ∇f(w − α∇f(w; D); D'): the Hessian is left out."""
    (inner, outer), _ = batches
    return descend(w, _ahead(model, w, inner, outer, alpha), beta)


def hessian_free(
    model: Model, w: Params, batches: Three, beta: Tensor, alpha: Tensor, delta: Tensor
) -> Params:
    """w ← w − β (v − α d), d = (∇f(w + δv; D'') − ∇f(w − δv; D'')) / 2δ, which is ∇²f(w; D'') v up
    to O(δ²).
    """
    (inner, outer), curvature = batches
    v = _ahead(model, w, inner, outer, alpha)
    slope = gradient(model.loss)
    above, below = slope(_along(w, v, delta), curvature), slope(_along(w, v, -delta), curvature)
    bent = {name: v[name] - alpha * (above[name] - below[name]) / (2 * delta) for name in w}
    # running statistics come from the pass over D' alone, as FedAvg's: D and D'' are only looked at
    return descend(w, {name: v[name] if is_buffer(name) else bent[name] for name in w}, beta)


def _along(w: Params, v: Params, distance: Tensor) -> Params:
    return {
        name: value if is_buffer(name) else value + distance * v[name] for name, value in w.items()
    }


STEPS = {"hf": hessian_free, "fo": first_order}


@declared
def per_fedavg(
    *,
    lr: float,
    inner_lr: NotNegative = 0.01,
    hessian: Literal["hf", "fo"] = "hf",
    delta: Positive = 0.01,
    adapt_steps: Count = 1,
    weights: Weights = "samples",
) -> Method:
    """Per-FedAvg: FedAvg whose local steps descend the loss after adaptation; every client adapts
    the global model.

    Readings: D, D', D'' are three mini-batches of [train] batch_size, drawn independently (they may
    overlap). α is part of the objective, not a step of the optimizer: neither schedule nor
    [train] optimizer touches it. The personal model is made from the global one when it is asked
    for, on mini-batches of the client's training data; it is not kept. 0.01 for δ is ours: it
    keeps both the truncation and float32 rounding small.
    Deviation: the server averages by samples by default (Algorithm 1's clients count alike), so
    that FedAvg and this differ in the local step alone.

    Args:
        lr: β, the local (outer) step.
        inner_lr: α, the adaptation step; 0 is FedAvg.
        hessian: "hf" multiplies by I − α∇²f, with the Hessian-vector product as a central
            difference of gradients, the paper's Hessian-free form and the one that keeps its
            objective; "fo" leaves the Hessian out, which is another method where α‖∇²f‖ is not
            small and so never chosen silently.
        delta: δ of the difference, as a multiple of the gradient.
        adapt_steps: SGD steps with α from w to the personal model; training always looks one step
            ahead, as in the paper.
        weights: "samples" or "uniform": the weights of the server's mean, as in fedavg.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        inner, outer, curvature = (
            data.batches(purpose=purpose) for purpose in ("inner", "batches", "curvature")
        )
        three = inner.zip(outer).zip(curvature)
        w = scan(STEPS[hessian], received["parameters"], three, lr * data.decay, inner_lr, delta)
        return own, {"parameters": w}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        w = received["parameters"]
        batches = data.batches(purpose="adapt", steps=adapt_steps)._replace(optimizer=PLAIN)
        adapted = scan(sgd_step, w, batches, inner_lr)
        return {"personal": adapted, "global": w}

    return fedavg(lr=lr, weights=weights)._replace(
        name="per_fedavg",
        client_update=client_update,
        personal_models=personal_models,
    )
