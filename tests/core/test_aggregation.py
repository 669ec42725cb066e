"""What a server's update receives: as its method declares."""

import inspect
from collections.abc import Mapping

import pytest
import torch

from fedkin.core.aggregation import (
    EachClient,
    Group,
    GroupedSum,
    Mean,
    Reply,
    WeightedSum,
    aggregated,
    merged_groups,
)
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


def chosen(told):
    return (told["coefficients"]["c"] > 0, 5)


def test_a_sum_a_group():
    found = aggregated(GroupedSum(chosen), REPLIES)
    assert [*found] == [(False, 5), (True, 5)]
    alone, both = found.values()
    assert alone.mean["parameters"]["w"].tolist() == [-2.0, 2.0]
    assert both.mean["parameters"]["w"].tolist() == pytest.approx([21 / 12, -21 / 12])
    assert both.clients == (7, 2)
    assert both.weights == {7: 3.0, 2: 9.0}
    assert both.each[2] == {"coefficients": {"c": 1.0}}
    alike = aggregated(GroupedSum(chosen, "uniform"), REPLIES)
    assert alike[True, 5].mean["parameters"]["w"].tolist() == [2.5, -2.5]


def test_a_group_without_weight_has_no_mean():
    found = aggregated(GroupedSum(chosen), {**REPLIES, 5: reply(-2.0, 0.0)})
    assert found[False, 5].mean == {}
    one, whole = merged_groups([*found.values()]).mean, found[True, 5].mean
    assert torch.equal(one["parameters"]["w"], whole["parameters"]["w"])


def test_groups_together_are_the_sum_of_all():
    found = merged_groups([*aggregated(GroupedSum(chosen), REPLIES).values()])
    whole = aggregated(WeightedSum(), REPLIES)
    assert torch.allclose(found.mean["parameters"]["w"], whole.mean["parameters"]["w"])
    assert (found.clients, found.weight) == ((2, 5, 7), 16.0)
    assert found.each == dict(whole.each)


def test_each_client():
    assert aggregated(EachClient(), REPLIES) is REPLIES
    assert aggregated(EachClient(None), REPLIES) is REPLIES
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
    grouped = isinstance(method.aggregation, GroupedSum)
    assert (sent.annotation == Mapping[Group, Mean]) == grouped, name


def test_sums_are_declared_wherever_they_suffice():
    summed = {
        name
        for name in METHODS
        if isinstance(make(name, SETTINGS[name], {"lr": 0.1}).aggregation, WeightedSum)
    }
    assert summed >= {  # whose update needs no message by itself
        *("apfl", "centralized", "ditto", "fedavg", "fedem", "fedper", "fedprox", "fedsim"),
        *("finetune", "l2sgd", "lg_fedavg", "partial_fl", "per_fedavg", "persfl", "ppfl"),
        *("scaffold", "fedrep", "fedbabu", "fedbn", "fedala"),
        *("fedproto", "fedrod", "knn_per", "moon", "feddyn", "fedntd"),
        *("feddbe", "fedcp", "gpfl", "ds_fl", "fedmd"),
    }
    grouped = {
        name
        for name in METHODS
        if isinstance(make(name, SETTINGS[name], {"lr": 0.1}).aggregation, GroupedSum)
    }
    assert grouped >= {"ifca", "hypcluster"}


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_says_of_its_hyper_parameters_makes_it_again(name):
    method = make(name, SETTINGS[name], {"lr": 0.1})
    assert set(method.hyper) <= set(inspect.signature(METHODS[name]).parameters), name
