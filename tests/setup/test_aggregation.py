"""What a method declares its server to need: words that mean nothing are refused."""

import pytest

from fedkin.core.aggregation import EachClient, GroupedSum, WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.setup.aggregation import check_aggregation
from fedkin.setup.build import assemble
from tests.engine.small import METHODS, small

FEDAVG = assemble(small("fedavg")).method


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (WeightedSum(weight="sample"), "unknown weight 'sample': did you mean 'samples'?"),
        (GroupedSum(lambda _: (0,), weight="unifrom"), "did you mean 'uniform'?"),
        (WeightedSum(weight=None), r"unknown weight None \(choices: samples, uniform\)"),
        (EachClient("sample"), "did you mean 'samples'?"),
        (WeightedSum(kinds=("paramters",)), "unknown kind 'paramters': did you mean 'parameters'?"),
        (WeightedSum(differences=("paramters",)), "did you mean 'parameters'?"),
        (WeightedSum(kinds="parameters"), r"write kinds=\('parameters',\)"),
        (GroupedSum("grop"), r"the group .* is 'grop', .*as GroupedSum\(lambda message"),
        ("mean", "is a str, not a WeightedSum"),
    ],
)
def test_words_that_mean_nothing(how, says) -> None:
    with pytest.raises(FedkinError, match=f"^method fedavg.*{says}"):
        check_aggregation(FEDAVG._replace(aggregation=how))


def test_before_a_run() -> None:
    with pytest.raises(FedkinError, match="did you mean 'samples'"):
        assemble(small("fedavg"), FEDAVG._replace(aggregation=WeightedSum(weight="sample")))


@pytest.mark.parametrize("name", METHODS)
def test_fedkins_own_mean_something(name) -> None:
    check_aggregation(assemble(small(name)).method)
