"""Attackers send what an attack says, the others what they did; who attacks is on record."""

from statistics import fmean

import pytest
import torch

from fedkin.core.aggregation import Reply, RuleContext, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.flower.operator.site import init
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms import attacks
from tests.engine.small import content

RECEIVED = {
    "parameters": {"w": torch.tensor([1.0, 2.0]), "buffer:n": torch.tensor([7.0])},
    "control": {"c": torch.tensor([3.0])},
}
SENT = {
    "parameters": {"w": torch.tensor([1.5, 1.0]), "buffer:n": torch.tensor([9.0])},
    "control": {"c": torch.tensor([5.0])},
}


@pytest.mark.certifies("attack", "closed form")
@pytest.mark.parametrize(
    ("kind", "strength", "w"),
    [
        ("sign_flip", 1.0, [0.5, 3.0]),
        ("sign_flip", 2.0, [0.0, 4.0]),
        ("scaled", 10.0, [6.0, -8.0]),
        ("constant", 0.25, [1.25, 2.25]),
    ],
)
def test_an_update_becomes_what_the_attack_says_and_the_rest_stays(kind, strength, w):
    found = attacks.tampered(SENT, RECEIVED, (), attacks._of_kind(kind, strength))
    assert found["parameters"]["w"].tolist() == pytest.approx(w)
    assert found["parameters"]["buffer:n"].tolist() == [9.0]
    assert found["control"]["c"].tolist() == [5.0]


def test_a_message_of_differences_is_an_update_already():
    found = attacks.tampered(SENT, RECEIVED, ("parameters",), attacks._of_kind("sign_flip", 1.0))
    assert found["parameters"]["w"].tolist() == [-1.5, -1.0]


@pytest.mark.certifies("attack", "closed form")
def test_alie_is_the_attackers_mean_less_some_deviations():
    def message(a, b):
        return {"parameters": {"w": torch.tensor([a, b])}}

    replies = {
        0: Reply(message(1.0, 4.0), 1.0),
        1: Reply(message(3.0, 4.0), 1.0),
        2: Reply(message(50.0, 60.0), 2.0),
    }
    how = WeightedSum(steps=(attacks.alie(frozenset({0, 1}), 1.5),))
    found = aggregated(how, replies, lambda: RuleContext(lambda client: {}, 1, None))
    expected = [(2 * (2 - 1.5 * 1) + 2 * 50) / 4, (2 * 4 + 2 * 60) / 4]
    assert found.mean["parameters"]["w"].tolist() == pytest.approx(expected)


@pytest.mark.certifies("attack", "closed form")
def test_the_z_of_the_paper():
    assert attacks.largest_z(50, 24) == pytest.approx(1.4260768722)  # 24 of 26 honest ones
    assert attacks.largest_z(20, 4) == pytest.approx(0.1573106846)
    assert attacks.largest_z(3, 1) == 0.0


def asked(method="fedavg", **parameters):
    entry = {"name": "attack", **parameters}
    return parse({**content(method, run__rounds=2), "transforms": [entry]})[0]


def accuracies(folder):
    """{client: test accuracy} of the last global model."""
    with read_only(folder) as database:
        return dict(
            database.rows(
                "SELECT client, accuracy FROM metrics "
                "WHERE round = 2 AND split = 'test' AND view = 'global'"
            )
        )


def test_the_record_says_who_attacks_and_what_the_others_have_left(tmp_path):
    folder = run(asked(kind="sign_flip", strength=8.0, share=0.34), tmp_path / "a")
    hurt = summary(folder)
    well = summary(run(parse(content("fedavg", run__rounds=2))[0], tmp_path / "b"))
    told = hurt["extras"]["attacker"]
    assert sorted(told.values()) == [0, 0, 0, 0, 1, 1]
    assert well["honest"] is None
    honest = hurt["honest"]
    assert (honest["clients"], honest["attackers"]) == (4, 2)
    assert honest["views"]["global"] < well["headline"]["global"]["final"]["mean"]
    each = accuracies(folder)
    others = fmean(value for client, value in each.items() if told[str(client)] == 0)
    assert honest["views"]["global"] == pytest.approx(others)
    assert others != pytest.approx(fmean(each.values()), abs=1e-3)


@pytest.mark.parametrize(
    ("method", "parameters", "sentence"),
    [
        ("fedavg", {"kind": "sign"}, "transform attack: kind: input should be 'sign_flip'"),
        ("fedavg", {"kind": "label_flip", "strength": 2.0}, "label_flip has no strength"),
        ("fedavg", {"kind": "backdoor", "target": 10}, "needs class 10, and the data have 10"),
        ("fedavg", {"kind": "scaled", "share": 0.5}, "share: input should be less than 0.5"),
        ("comet", {"kind": "scaled"}, "clients of comet are sent no parameters"),
        ("cgpfl", {"kind": "alie"}, "attack kind=alie works on a declared sum"),
        *(
            (method, {"kind": kind}, f"clients of {method} send a model that they choose or mix")
            for method in ("ifca", "hypcluster", "fedfomo")
            for kind in ("sign_flip", "backdoor")
        ),
        ("centralized", {"kind": "label_flip"}, "centralized trains on everybody's samples in one"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(method, parameters, sentence):
    with pytest.raises(FedkinError, match=sentence):
        assemble(asked(method, **parameters))


def test_nodes_of_a_deployment_do_not_attack(tmp_path):
    spec = asked(kind="sign_flip")
    with pytest.raises(FedkinError, match="attack is for simulations"):
        init(tmp_path / "d", spec, ["a", "b"], "localhost:9092", insecure=True)
