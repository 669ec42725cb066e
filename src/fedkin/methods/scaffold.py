"""SCAFFOLD (Karimireddy, Kale, Mohri, Reddi, Stich & Suresh, 2020): FedAvg without client drift.
Algorithm 1.
"""

from functools import partial

from torch import Tensor

from fedkin.core.aggregation import Mean, WeightedSum, Weights
from fedkin.core.hyperparameters import Positive, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree, add, is_buffer, scale, sub, zeros
from fedkin.methods.parts.checks.everyone_weighted import check_everyone_weighted


def _step(model: Model, v: Params, batch: Batch, lr: Tensor, correction: Params) -> Params:
    """v ← v − lr (∇f(v; batch) − c_i + c) for weights; running statistics have no control."""
    slope = gradient(model.loss)(v, batch)
    return descend(
        v, {**slope, **{name: slope[name] + value for name, value in correction.items()}}, lr
    )


@declared
def scaffold(*, lr: float, server_lr: Positive = 1.0, weights: Weights = "uniform") -> Method:
    """SCAFFOLD, option II: local steps are corrected by the difference of two control variates:

    v ← v − η (∇f(v) − c_i + c), and at the end c_i⁺ = c_i − c + (w − v) / (S η).

    c moves by |S|/N times the mean of the changes.

    Readings: c and every c_i start at 0. What the uniform mean minimises is the plain mean of the
    f_i. η in S η is this round's rate, decay included. Changes Δw, Δc_i are sent, not the new
    values, so that c_i stays home, although a server could add a client's changes up. Batch-norm
    statistics are refreshed locally, sent as they are and averaged: they have no control, and
    server_lr does not stretch them.

    Args:
        lr: η_l, the local step.
        server_lr: η_g, the server's step along the mean of the clients' changes. [train] steps is K
            (S of our notes).
        weights: "uniform", as in the paper, or "samples": the weights of the means of Δw and of Δc.
            "samples" needs every client in every round.
    """

    def server(start: FederationInit) -> Tree:
        w = start.only()
        return {
            "parameters": {"model": w, "control": zeros(w)},
            "clients": len(start.clients),
        }

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, c = received["parameters"]["model"], received["parameters"]["control"]
        correction = sub(c, own["control"])
        batches, rate = data.batches(), lr * data.decay
        v = scan(_step, w, batches, rate, correction)
        moved = {name: v[name] - w[name] for name in c}
        change = sub(scale(-1 / (rate * batches.steps), moved), c)  # c_i⁺ − c_i
        return {"control": add(own["control"], change)}, {
            "parameters": {"model": {**v, **moved}, "control": change}
        }

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        old, mean = state["parameters"], sent.mean["parameters"]
        model = {
            name: mean["model"][name]
            if is_buffer(name)
            else value + server_lr * mean["model"][name]
            for name, value in old["model"].items()
        }
        control = add(old["control"], scale(sent.participants / state["clients"], mean["control"]))
        return {**state, "parameters": {"model": model, "control": control}}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        w = received["parameters"]["model"]
        return {"personal": w, "global": w}

    return Method(
        name="scaffold",
        server=server,
        client=lambda initial, info: {"control": zeros(initial)},
        broadcast=lambda state, client: {"parameters": state["parameters"]},
        client_update=client_update,
        expected_update=lambda received, info: received,
        aggregation=WeightedSum(weights, differences=("parameters",)),
        server_update=server_update,
        personal_models=personal_models,
        check=partial(check_everyone_weighted, "scaffold", weights),
        # (w − v) / (S η) is a mean gradient after such steps alone; c stays the mean of the c_i
        needs=Needs(plain_sgd=True, plain_mean=True),
    )
