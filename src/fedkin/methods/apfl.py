"""APFL (Deng, Kamani & Mahdavi, 2020): a personal model that mixes a local and the global one. Algorithm 1."""

from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import Data, Info, Method
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree, flat, mix, sub
from fedkin.methods.fedavg import fedavg, sgd_step


def _mixture(v: Params, model: Model, w: Params, batch: Batch, alpha: Tensor) -> Tensor:
    """f(v̄), v̄ = α v + (1−α) w; its derivative by v is α ∇f(v̄)."""
    return model.loss(mix(w, v, alpha), batch)


def _step(model: Model, both: tuple[Params, Params], batch: Batch, lr: Tensor, alpha: Tensor) -> tuple[Params, Params]:
    """One mini-batch for both: w by its own loss, v by that of v̄, at the w and v from before the step."""
    w, v = both
    return sgd_step(model, w, batch, lr), descend(v, gradient(_mixture)(v, model, w, batch, alpha), lr)


def _share_step(model: Model, alpha: Tensor, batch: Batch, lr: Tensor, w: Params, v: Params) -> Tensor:
    """α ← α − lr ⟨v − w, ∇f(v̄)⟩, which is the derivative of f(v̄) by α, clipped to [0, 1]."""
    slope = gradient(model.loss)(mix(w, v, alpha), batch)
    return (alpha - lr * (flat(sub(v, w)) @ flat(slope))).clamp(0.0, 1.0)


def apfl(*, lr: float, alpha: float = 0.5, adaptive: bool = True) -> Method:
    """APFL: w by FedAvg, v by α∇f(v̄), evaluated as v̄ = αv + (1−α)w, mixed in parameters.

    lr: η of w, v and α. alpha: the share of v at the start, in [0, 1]; 0 without adaptation is FedAvg. adaptive:
    whether each client learns its α.

    Readings: α moves once a round, before the first step, by that step's mini-batch
    and at the received w; v and w then see the same mini-batches. v starts at the initial model, as w does, so that α
    cannot move before a client's second round. v̄ is looked at with the model received last: Algorithm 1 sets w_i to
    the new average when it synchronises. Mean by samples, as fedavg (the paper's is uniform).
    """
    if not 0 <= alpha <= 1:
        raise FedkinError("apfl needs alpha within [0, 1]")

    def client(initial: Params, info: Info) -> Tree:
        return {"parameters": initial, "alpha": alpha}

    def local(down: Tree, own: Tree, data: Data) -> tuple[Tree, Tree]:
        w, v, share = down["parameters"], own["parameters"], own["alpha"]
        batches, rate = data.batches(), lr * data.decay
        if adaptive:
            share = float(scan(_share_step, share, batches._replace(steps=1), rate, w, v))
        w, v = scan(_step, (w, v), batches, rate, share)
        return {"parameters": v, "alpha": share}, {"parameters": w}

    def personal(down: Tree, own: Tree, data: Data) -> dict[str, Params]:
        w = down["parameters"]
        return {"personal": mix(w, own["parameters"], own["alpha"]), "global": w}

    return fedavg(lr=lr)._replace(
        name="apfl",
        client=client,
        local=local,
        personal=personal,
        notes=lambda own: {"alpha": own["alpha"]},
        hyper={"lr": lr, "alpha": alpha, "adaptive": adaptive},
    )
