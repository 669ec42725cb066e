"""FedBABU (Oh, Kim & Yun, 2022): rounds train the body under a head that nobody trains; at the end
each client fine-tunes. Algorithm 1.
"""

from functools import partial
from typing import Literal

from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Layers, Positive, Weights, declared
from fedkin.core.layers import select
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree
from fedkin.methods.parts.split_model import part_step, split_model

__all__ = ["fedbabu"]

Tuned = Literal["full", "head", "body"]


@declared
def fedbabu(
    *,
    lr: float,
    head: Layers = "last",
    epochs: Count = 5,
    tune: Tuned = "full",
    personal_lr: Positive | None = None,
    weights: Weights = "samples",
) -> Method:
    """FedBABU: the head stays what the first draw made it, the body is trained and averaged; after
    the last round each client trains on at home.

    Readings: until the end the personal view is the global model, body and untrained head. The
    schedule's decay goes on. A new client fine-tunes the last body.

    Deviations: the authors' code takes the plain mean of bodies. It fine-tunes the model of the
    round that did best on test samples, at a rate of its own (0.001).

    Args:
        lr: Learning rate of the body.
        head: Which layers nobody trains in the rounds, by name, as in fedper.
        epochs: τ_f, passes over the client's data at the end.
        tune: What they train: "full" (what the paper reports), "body" or "head"; all do about as
            well there.
        personal_lr: Learning rate at the end; lr if not given.
        weights: "samples" or "uniform": the weights of the mean of bodies.
    """
    rate = lr if personal_lr is None else personal_lr

    def work(still: Params, body: Params, data: ClientContext) -> tuple[Params, Params]:
        return still, scan(part_step, body, data.batches(), still, lr * data.decay)

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        body, still = received["parameters"], own["parameters"]
        batches, step = data.batches(purpose="finetune", epochs=epochs), rate * data.decay
        if tune == "full":
            tuned = scan(sgd_step, {**body, **still}, batches, step)
        elif tune == "head":
            tuned = {**body, **scan(part_step, still, batches, body, step)}
        else:
            tuned = {**still, **scan(part_step, body, batches, still, step)}
        return {**own, "tuned": tuned}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        whole = {**received["parameters"], **own["parameters"]}
        common = {name: whole[name] for name in data.model.initial}
        return {"personal": own.get("tuned", common), "global": common}

    method = split_model(
        name="fedbabu", personal=partial(parted, head=head), work=work, weights=weights
    )
    return method._replace(finalize=finalize, personal_models=personal_models)


def parted(params: Params, head: Layers) -> frozenset[str]:
    """The names of the head. Raises FedkinError where it is nothing, or all that can be trained."""
    found = select(params, head, "head")
    if not found or found == frozenset(params):
        raise FedkinError("fedbabu: head names some layers of the model, neither none nor all")
    return found
