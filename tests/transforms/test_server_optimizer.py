"""Optimizers in whole runs: steps of several clients, kept states, the server's golden numbers."""

from pathlib import Path

import pytest
import torch

from fedkin.core.aggregation import Mean
from fedkin.core.errors import FedkinError
from fedkin.engine.contexts import Schedule
from fedkin.experiment.run import run
from fedkin.methods.fedavg import fedavg
from fedkin.runs.spec import Spec
from fedkin.runs.training import ServerSection
from fedkin.setup.build import method_of
from fedkin.transforms.server_optimizer import ServerOptimizer, optimize_at_server
from tests.engine.small import outcome, small

# w = 1, means 3 then 2: by hand, with lr 0.5, β 0.5, β₂ 0.75, τ 0.5
GOLDEN = {
    "sgd": [2.0, 2.0],
    "momentum": [2.0, 2.5],
    "adagrad": [1 + 0.5 * 1 / (4.25**0.5 + 0.5)],
    "adam": [1 + 0.5 * 1 / (1.1875**0.5 + 0.5)],
    "yogi": [1 + 0.5 * 1 / (1.25**0.5 + 0.5)],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_server_steps_by_hand(name):
    method = optimize_at_server(fedavg(lr=0.1), ServerOptimizer(name, 0.5, 0.5, 0.75, 0.5))
    first = {"parameters": {"w": torch.tensor([1.0]), "buffer:s": torch.tensor([1.0])}}
    state = {"method": first, "optimizer": {}}
    for target, golden in zip((3.0, 2.0), GOLDEN[name], strict=False):
        mean = {"w": torch.tensor([target]), "buffer:s": torch.tensor([target])}
        state = method.server_update(state, Mean((0,), {"parameters": mean}, {}, 1.0), None)
        found = method.broadcast(state, 0)["parameters"]
        assert float(found["w"]) == pytest.approx(golden, rel=1e-6)
        assert float(found["buffer:s"]) == target


@pytest.mark.parametrize(
    ("asked", "momentum"),
    [({"optimizer": "adagrad"}, 0.0), ({"optimizer": "adagrad", "momentum": 0.5}, 0.5), ({}, 0.9)],
)
def test_adagrad_has_momentum_only_where_it_is_asked_for(asked, momentum):
    assert Spec.model_validate({"server": asked}).server.momentum == momentum


def test_entries_of_a_mean_are_found_by_their_names():
    method = optimize_at_server(fedavg(lr=0.1), ServerOptimizer("momentum", 1.0, 0.5))
    state = {
        "method": {"parameters": {"w": torch.zeros(2), "v": torch.zeros(2)}},
        "optimizer": {},
    }
    mean = {"v": torch.full((2,), -5.0), "w": torch.ones(2)}
    state = method.server_update(state, Mean((0,), {"parameters": mean}, {}, 1.0), None)
    found = method.broadcast(state, 0)["parameters"]
    assert {name: value.tolist() for name, value in found.items()} == {
        "w": [1.0, 1.0],
        "v": [-5.0, -5.0],
    }


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["apfl", "fedem", "fedsim", "ppfl"])
def test_several_clients_steps_and_kept_states(method, tmp_path: Path):
    how = {"train__optimizer": "adamw", "train__state": "kept", "train__weight_decay": 0.1}
    alone = outcome(run(small(method, **how), tmp_path / "alone"))
    block = outcome(run(small(method, engine__block=3, **how), tmp_path / "block"))
    for one, other in zip(alone["metrics"], block["metrics"], strict=True):
        assert one[:4] == other[:4]
        assert other[4] == pytest.approx(one[4], rel=1e-4, nan_ok=True)


WRONG = [
    ("scaffold", {"train__momentum": 0.9}, "scaffold computes with what steps of plain SGD did"),
    ("comet", {"server__optimizer": "adam"}, "comet: server.optimizer is for methods whose"),
    ("feddyn", {"server__optimizer": "momentum"}, "feddyn: server.optimizer is for methods whose"),
    ("scaffold", {"server__optimizer": "yogi"}, "scaffold: server.optimizer is for methods whose"),
    ("fedavg", {"train__optimizer": "adm"}, "did you mean 'adam'"),
    ("fedavg", {"train__momentum": 1.0}, "train.momentum: input should be less than 1, not 1.0"),
    ("fedavg", {"train__optimizer": "adam", "train__momentum": 0.9}, "set train.betas"),
    ("fedavg", {"server__optimizer": "adm"}, "did you mean 'adam'"),
]


@pytest.mark.parametrize(("method", "how", "sentence"), WRONG)
def test_mistakes(method, how, sentence):
    with pytest.raises(FedkinError) as caught:
        method_of(small(method, **how))
    assert sentence in str(caught.value)


def test_schedules():
    cosine = Schedule(4, shape="cosine", warmup=1, rounds=5)
    linear = cosine._replace(shape="linear")
    expected = [0.5, 0.5, 1.0, 0.85355339, 0.5, 0.14644661, 0.14644661]
    assert [cosine.factor(t) for t in range(7)] == pytest.approx(expected)
    assert [linear.factor(t) for t in range(2, 7)] == pytest.approx([1, 0.75, 0.5, 0.25, 0.25])


@pytest.mark.parametrize(
    ("published", "ours"),
    [("FedAvgM", "momentum"), ("fedadagrad", "adagrad"), ("FedAdam", "adam"), ("fedyogi", "yogi")],
)
def test_optimizers_are_known_by_the_names_of_their_papers(published: str, ours: str) -> None:
    assert ServerSection.model_validate({"optimizer": published}) == ServerSection.model_validate(
        {"optimizer": ours}
    )
