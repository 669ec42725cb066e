"""What each sample costs each model that somebody sees of a client."""

import math

import numpy as np
import pytest
import torch

from fedkin.audit.losses import MESSAGE, Exposed, seen
from fedkin.core.family import FAMILIES
from fedkin.core.method import plain_prediction
from fedkin.methods import make
from tests.methods.federation import Federated, architecture, arrays, population

PEOPLE = population(sizes=(5, 9, 4))


def test_losses_are_those_of_each_sample() -> None:
    model = architecture("dnn")
    x, y = PEOPLE.part(1, "train")
    found = Exposed(model, model.initial, plain_prediction).losses(x, y)
    logits = model.outputs(model.initial, x)
    expected = torch.nn.functional.cross_entropy(logits, y, reduction="none")
    assert found == pytest.approx(expected.numpy())


def test_numbers_cost_their_squared_error_and_a_diverged_model_everything() -> None:
    model = architecture("glm", family=FAMILIES["gaussian"])
    rows = [[1.0, 0, 0, 0], [math.inf, 0, 0, 0], [math.inf, math.inf, 0, 0]]
    x, w = torch.tensor(rows).double(), torch.tensor([[2.0, -2.0, 0, 0]]).double()
    found = Exposed(model, {"weight": w}, plain_prediction).losses(x, torch.ones(3).double() * 5)
    assert found[0] == 9.0
    # no nan: it would have no place in an order; no large number: it would be in means
    assert found[1:].tolist() == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("name", "hyper", "whole"),
    [
        ("fedavg", {}, True),
        ("ditto", {"lam": 0.3}, True),
        ("fedper", {"personal": ["out."]}, False),
        ("local", {}, False),
    ],
)
def test_a_message_is_a_model_where_clients_send_whole_ones(name, hyper, whole) -> None:
    method = make(name, hyper, {"lr": 0.1})
    run = Federated(method, PEOPLE, {"dnn": architecture("dnn")}, steps=3).run(2)
    own = run.moments[-1].own[1]
    found = seen(run.coordinator, run.host, 1, 2)
    assert (MESSAGE in found.models) == whole
    assert found.models.keys() - {MESSAGE} == run.coordinator.views(1, 3).keys()
    np.testing.assert_equal(arrays(run.host.personal_state(1)), own)  # nothing is kept of the work
    if whole:
        sent = found.models[MESSAGE].view
        assert not torch.equal(sent["out.bias"], found.received["parameters"]["out.bias"])
