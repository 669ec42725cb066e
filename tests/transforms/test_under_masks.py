"""Which methods can do with a sum that nobody sees the terms of."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit
from fedkin.methods import make
from fedkin.transforms.setting import Setting
from fedkin.transforms.under_masks import check_uncompressed, sum_under_masks
from tests.engine.small import METHODS

W = {"1.weight": torch.zeros(3, 2), "1.bias": torch.zeros(3)}
START = FederationInit({"m": W}, tuple(range(9)), 4, 3, lambda k: W, dict.fromkeys(range(9), "m"))
INFOS = {client: ClientInfo(client, "m", 10, torch.ones(3), 4, 3) for client in range(9)}
SETTING = Setting(9, 9, 1.0, 5, lambda: "fedavg, fedprox", INFOS)


def masked(name, setting=SETTING, threshold=7):
    made = sum_under_masks(make(name, METHODS[name], {"lr": 0.1}), setting, threshold)
    made.check(START, setting.participants)
    return made


def test_a_method_that_needs_a_sum_is_what_it_was() -> None:
    plain = make("fedavg", {}, {"lr": 0.1})
    made = masked("fedavg")
    assert made._replace(check=plain.check).aggregation == plain.aggregation
    assert made.hyper == plain.hyper


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("comet", "comet needs every message by itself: try fedavg, fedprox"),
        ("ifca", "ifca needs a sum for each group of clients"),
        ("feddbe", "clients of feddbe introduce themselves before the first round, one by one"),
    ],
)
def test_a_method_that_needs_more_is_told_which_do_not(name, said) -> None:
    with pytest.raises(FedkinError, match=rf"^\[privacy\] secure_aggregation.*{said}"):
        masked(name)


def test_a_method_that_sends_nothing_is_told_so() -> None:
    """It needs no message by itself, nor a sum: it needs none."""
    with pytest.raises(FedkinError, match=r"^\[privacy\] has nothing .* local send nothing; leave"):
        masked("local")


def test_what_is_sent_beside_the_sum_is_named() -> None:
    plain = make("fedavg", {}, {"lr": 0.1})

    def expected(received, info):
        return {**plain.expected_update(received, info), "coefficients": torch.zeros(3)}

    made = sum_under_masks(plain._replace(expected_update=expected), SETTING, 7)
    with pytest.raises(FedkinError, match="clients of fedavg send coefficients beside the sum"):
        made.check(START, 9)


def test_rules_that_look_at_each_message_are_refused() -> None:
    plain = make("fedavg", {}, {"lr": 0.1})
    ruled = plain._replace(aggregation=plain.aggregation._replace(rule=lambda given: None))
    with pytest.raises(FedkinError, match="shows the server a sum alone, and a robust rule"):
        sum_under_masks(ruled, SETTING, 7)


@pytest.mark.parametrize("threshold", [4, 10])
def test_a_threshold_that_protects_nobody_is_refused(threshold) -> None:
    with pytest.raises(FedkinError, match="threshold"):
        masked("fedavg", threshold=threshold)


def test_the_methods_own_check_is_asked_first() -> None:
    plain = make("fedavg", {}, {"lr": 0.1})

    def check(start, participants):
        raise FedkinError(f"no: {participants}")

    made = sum_under_masks(plain._replace(check=check), SETTING, 7)
    with pytest.raises(FedkinError, match="no: 9"):
        made.check(START, 9)


def test_what_is_compressed_cannot_be_added() -> None:
    with pytest.raises(FedkinError, match=r"top_k sends only some .*take top_k out of"):
        check_uncompressed(["top_k", "quantize"])
    assert check_uncompressed([]) is None
