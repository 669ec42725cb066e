"""APFL (Deng, Kamani & Mahdavi, 2020): a personal model that mixes a local and the global one.
Algorithm 1.
"""

from typing import Literal, NamedTuple

from torch import Tensor

from fedkin.core.hyperparameters import Fraction, Weights, declared
from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, local_only, scan, sgd_step
from fedkin.core.tree import Params, Tree, flat, mix, sub
from fedkin.methods.fedavg import fedavg


class _Models(NamedTuple):
    """A client's copy w of the global model, its local v, and their mixture v̄ = α v + (1−α) w as
    last formed.
    """

    w: Params
    v: Params
    mixture: Params


def _step(model: Model, at: _Models, batch: Batch, lr: Tensor, alpha: Tensor) -> _Models:
    """One mini-batch: w by ∇f(w), v by α ∇f(v̄) at the v̄ of the step before, then v̄ anew."""
    slope = gradient(model.loss)(at.mixture, local_only(batch))
    w, v = sgd_step(model, at.w, batch, lr), descend(at.v, slope, lr * alpha, "v")
    return _Models(w, v, mix(w, v, alpha))


def _share_step(model: Model, alpha: Tensor, batch: Batch, lr: Tensor, at: _Models) -> Tensor:
    """α ← α − lr ⟨v − w, ∇f(v̄)⟩, which is the derivative of f(v̄) by α, clipped to [0, 1]."""
    slope = gradient(model.loss)(at.mixture, local_only(batch))
    return (alpha - lr * (flat(sub(at.v, at.w)) @ flat(slope))).clamp(0.0, 1.0)


@declared
def apfl(
    *,
    lr: float,
    alpha: Fraction = 0.5,
    adaptive: bool = True,
    mixture: Literal["kept", "received"] = "kept",
    weights: Weights = "samples",
) -> Method:
    """APFL: w by FedAvg, v by α∇f(v̄), evaluated as v̄ = αv + (1−α)w, mixed in parameters.

    Readings: α moves once a round, before the first step, by that step's mini-batch, at the
    received w and the v̄ of ``mixture``; v and w then see the same mini-batches. v starts at the
    initial model, as w does.
    Deviations: the paper's mean is uniform, here it is by samples by default. The authors' code
    takes v̄ with the w after its step, and moves α after the first step of a round, by (α² +
    (1−α)²) ⟨v − w, ∇f(v̄)⟩ + 0.02 α.

    Args:
        lr: η of w, v and α.
        alpha: The share of v at the start, in [0, 1]. Without adaptation 0 sends what FedAvg sends,
            and deploys what it deploys where ``mixture`` is "received".
        adaptive: Whether each client learns its α.
        mixture: What v̄ is when a model is received, for the first step and for evaluation: "kept"
            is Algorithm 1 read literally, v̄ stays what the last local step made of it; "received"
            forms it anew with the model received.
        weights: "samples" or "uniform": the weights of the server's mean; the paper's is uniform.
    """

    def client(initial: Params, info: ClientInfo) -> Tree:
        return held(initial, initial, alpha)

    def held(v: Params, mixed: Params, share: float) -> Tree:
        own = {"parameters": v, "alpha": share}
        return {**own, "mixture": mixed} if mixture == "kept" else own

    def present(received: Tree, own: Tree, share: float) -> _Models:
        w, v = received["parameters"], own["parameters"]
        return _Models(w, v, own["mixture"] if mixture == "kept" else mix(w, v, share))

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        share, batches, rate = own["alpha"], data.batches(), lr * data.decay
        if adaptive:
            first, before = batches._replace(steps=1), present(received, own, share)
            share = float(scan(_share_step, share, first, rate, before))
        now = scan(_step, present(received, own, share), batches, rate, share)
        return held(now.v, now.mixture, share), {"parameters": now.w}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        now = present(received, own, own["alpha"])
        return {"personal": now.mixture, "global": now.w}

    return fedavg(lr=lr, weights=weights)._replace(
        name="apfl",
        client=client,
        client_update=client_update,
        personal_models=personal_models,
        client_metrics=lambda own: {"alpha": own["alpha"]},
    )
