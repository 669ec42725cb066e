"""A model in two parts: a client keeps the personal layers, and the others are averaged."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from fedkin.core.aggregation import Mean, WeightedSum, Weights
from fedkin.core.layers import Layers, select
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import server_update as average

__all__ = ["Split", "Work", "part_loss", "part_step", "split_model"]

Split = Callable[[Params], frozenset[str]]  # a model's parameters → the names of the personal ones
# (personal, shared, data) → the two after a round
Work = Callable[[Params, Params, ClientContext], tuple[Params, Params]]


def split_model(
    *, name: str, personal: Layers | Split, work: Work, weights: Weights = "samples"
) -> Method:
    """The method whose clients keep the layers that ``personal`` names and share the others.

    Args:
        name: Of the method.
        personal: Which layers are personal: as ``fedper`` has them ("last", "norm", prefixes of
            names), or a function from a model's parameters to the names.
        work: A client's round: (its personal layers, the shared ones as received, its data) → both
            anew, each {name: tensor} with the names and shapes that it had.
        weights: "samples" or "uniform": the weights of the mean of shared layers.

    Returns:
        The method, whose messages are the shared layers; the view "personal" is both parts.
    """
    chosen = personal if callable(personal) else partial(_named, personal)

    def server(start: FederationInit) -> Tree:
        mine = chosen(start.only())
        return {
            "parameters": {name: value for name, value in start.only().items() if name not in mine}
        }

    def client(initial: Params, info: ClientInfo) -> Tree:
        mine = chosen(initial)
        return _held({name: value for name, value in initial.items() if name in mine})

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        mine, ours = work(own.get("parameters", {}), received.get("parameters", {}), data)
        return _held(mine), _held(ours)

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        return average(state, sent, server) if state["parameters"] else state

    def view(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        whole = {**received.get("parameters", {}), **own.get("parameters", {})}
        return {"personal": {name: whole[name] for name in data.model.initial}}

    def check(start: FederationInit, participants: int) -> None:
        chosen(start.only())  # raises where a name does not exist

    return Method(
        name=name,
        server=server,
        client=client,
        broadcast=lambda state, client: _held(state["parameters"]),
        client_update=client_update,
        expected_update=lambda received, info: received,
        aggregation=WeightedSum(weights),
        server_update=server_update,
        personal_models=view,
        check=check,
    )


def part_step(model: Model, part: Params, batch: Batch, rest: Params, rate: Tensor) -> Params:
    """A step of one part while the rest of the model stands still.

    Args:
        model: The client's architecture.
        part: The layers that move.
        batch: One mini-batch.
        rest: All other layers.
        rate: Learning rate.

    Returns:
        The moved layers.
    """
    return descend(part, gradient(part_loss)(part, model, batch, rest), rate)


def part_loss(part: Params, model: Model, batch: Batch, rest: Params) -> Tensor:
    """The loss as a function of one part.

    Args:
        part: The layers that move.
        model: The client's architecture.
        batch: One mini-batch.
        rest: All other layers.

    Returns:
        A 0-d tensor.
    """
    return model.loss({**rest, **part}, batch)


def _named(personal: Layers, parameters: Params) -> frozenset[str]:
    return select(parameters, personal, "personal layer")


def _held(part: Params) -> Tree:
    """A part as a message or a state: nothing at all where the part is empty."""
    return {"parameters": part} if part else {}
