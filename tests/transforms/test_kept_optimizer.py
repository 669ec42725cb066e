"""Kept optimizers against torch.optim over several rounds; a client that was away has its own."""

import pytest
import torch
from torch import nn

from fedkin.core.family import CATEGORICAL
from fedkin.core.method import ClientContext, Method
from fedkin.core.model import Batch, Model, from_module
from fedkin.core.ops import Batches, scan
from fedkin.core.optimizers import Optimizer
from fedkin.core.tree import Tree
from fedkin.methods.fedavg import fedavg, sgd_step
from fedkin.runtime.replay import Runtime
from fedkin.transforms.kept_optimizer import keep_optimizer

RATE, MOMENTUM = 0.3, 0.8


def model() -> Model:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return from_module("linear", nn.Linear(4, 3).to(torch.float64), CATEGORICAL)


class Data:
    """A client's batches of one round: as many steps as the round has, of rows of their own."""

    decay = 1.0

    def __init__(self, round: int, steps: int) -> None:
        drawn = torch.Generator().manual_seed(round)
        self.x = torch.randn(steps, 5, 4, generator=drawn, dtype=torch.float64)
        self.y = torch.randint(3, (steps, 5), generator=drawn)
        self.model = model()

    def batches(self, **how: object) -> Batches:
        def gather(first: int, last: int) -> Batch:
            even = torch.full((last - first, 5), 0.2, dtype=torch.float64)
            return Batch(self.x[first:last], self.y[first:last], even)

        optimizer = Optimizer(momentum=MOMENTUM)
        return Batches(Runtime("trace"), self.model, len(self.x), gather, optimizer=optimizer)


ROUNDS = [Data(1, 2), Data(2, 5), Data(3, 3)]


def worked(method: Method, rounds: list[Data]) -> list[Tree]:
    """What a client sends in each round, when it always receives the same model."""
    own, sent = method.client(model().initial, None), []
    for data in rounds:
        own, message = method.client_update({"parameters": model().initial}, own, data)
        sent.append(message["parameters"])
    return sent


def test_momentum_goes_on_though_the_model_is_replaced() -> None:
    module = nn.Linear(4, 3).to(torch.float64)
    theirs = torch.optim.SGD(module.parameters(), RATE, momentum=MOMENTUM)
    for data, ours in zip(ROUNDS, worked(keep_optimizer(fedavg(lr=RATE)), ROUNDS), strict=True):
        module.load_state_dict(model().initial)
        for x, y in zip(data.x, data.y, strict=True):
            theirs.zero_grad()
            nn.functional.cross_entropy(module(x), y).backward()
            theirs.step()
        for name, value in module.named_parameters():
            torch.testing.assert_close(ours[name], value.detach(), rtol=1e-12, atol=1e-12)


def test_otherwise_it_begins_anew_in_each_round() -> None:
    restarted = worked(fedavg(lr=RATE), ROUNDS)
    kept = worked(keep_optimizer(fedavg(lr=RATE)), ROUNDS)
    assert torch.equal(restarted[0]["weight"], kept[0]["weight"])
    for one, other in zip(restarted[1:], kept[1:], strict=True):
        assert not torch.allclose(one["weight"], other["weight"], rtol=1e-3)


def twice(own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
    """Two walks with the same step, and one of another: three states."""
    w = model().initial
    first = scan(sgd_step, w, data.batches(), RATE)
    second = scan(sgd_step, first, data.batches(), RATE)
    return own, {"parameters": scan(other_step, second, data.batches(), RATE)}


def other_step(model: Model, w: Tree, batch: Batch, rate: torch.Tensor) -> Tree:
    return sgd_step(model, w, batch, rate)


def test_each_walk_through_batches_has_a_state_of_its_own() -> None:
    method = fedavg(lr=RATE)._replace(client_update=lambda received, own, data: twice(own, data))
    kept = keep_optimizer(method)
    own, _ = kept.client_update({}, kept.client(model().initial, None), ROUNDS[0])
    states = own["optimizer"]
    assert len(states) == 3
    values = [state["w"]["momentum"]["weight"] for state in states.values()]
    assert not torch.allclose(values[0], values[1])
    assert not torch.allclose(values[1], values[2])


@pytest.mark.parametrize("hook", ["finalize", "setup_message"])
def test_what_a_method_has_not_is_not_added(hook: str) -> None:
    assert getattr(fedavg(lr=RATE), hook) is None
    assert getattr(keep_optimizer(fedavg(lr=RATE)), hook) is None
