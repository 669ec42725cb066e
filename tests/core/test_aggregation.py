"""What a server's update receives: as its method declares."""

import inspect

import pytest
import torch

from fedkin.core.aggregation import EachClient, Mean, Reply, WeightedSum, aggregated
from fedkin.core.tree import weighted_mean
from fedkin.methods import METHODS, make
from tests.engine.small import METHODS as SETTINGS


def reply(value: float, weight: float) -> Reply:
    message = {"parameters": {"w": torch.tensor([value, -value])}, "coefficients": {"c": value}}
    return Reply(message, weight)


REPLIES = {
    7: reply(4.0, 3.0),
    2: reply(1.0, 9.0),
    5: reply(-2.0, 4.0),
}  # neither order is the other


@pytest.mark.parametrize(
    ("weight", "expected", "mass"),
    [
        ("samples", 13 / 16, 16.0),  # (3·4 + 9·1 − 4·2) / 16
        ("uniform", 1.0, 3.0),  # (4 + 1 − 2) / 3
    ],
)
def test_a_weighted_sum(weight, expected, mass):
    found = aggregated(WeightedSum(weight), REPLIES)
    assert isinstance(found, Mean)
    assert found.mean["parameters"]["w"].tolist() == pytest.approx([expected, -expected])
    assert found.clients == (7, 2, 5)
    assert found.weight == mass


def test_what_is_not_summed_arrives_one_by_one():
    found = aggregated(WeightedSum(), REPLIES)
    assert set(found.mean) == {"parameters"}
    assert {client: rest["coefficients"]["c"] for client, rest in found.each.items()} == {
        7: 4.0,
        2: 1.0,
        5: -2.0,
    }


def test_each_client():
    assert aggregated(EachClient(), REPLIES) is REPLIES
    alike = aggregated(EachClient("uniform"), REPLIES)
    assert [(k, r.weight, r.message) for k, r in alike.items()] == [
        (k, 1.0, r.message) for k, r in REPLIES.items()
    ]
    assert len(alike) == 3


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        weighted_mean([], [])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_declares_what_its_update_takes(name):
    method = make(name, SETTINGS[name], {"lr": 0.1})
    (_, sent, _) = inspect.signature(method.server_update).parameters.values()
    assert (sent.annotation is Mean) == isinstance(method.aggregation, WeightedSum), name


def test_sums_are_declared_wherever_they_suffice():
    summed = {
        name
        for name in METHODS
        if isinstance(make(name, SETTINGS[name], {"lr": 0.1}).aggregation, WeightedSum)
    }
    assert summed == {
        *("apfl", "centralized", "ditto", "fedavg", "fedem", "fedper", "fedprox", "fedsim"),
        *("finetune", "l2sgd", "lg_fedavg", "partial_fl", "per_fedavg", "persfl", "ppfl"),
        *("scaffold", "fedrep", "fedbabu", "fedbn", "fedala"),
        *("fedproto", "fedrod", "knn_per", "moon", "feddyn", "fedntd"),
        *("feddbe", "fedcp", "gpfl"),
    }


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_says_of_its_hyper_parameters_makes_it_again(name):
    method = make(name, SETTINGS[name], {"lr": 0.1})
    assert set(method.hyper) <= set(inspect.signature(METHODS[name]).parameters), name
