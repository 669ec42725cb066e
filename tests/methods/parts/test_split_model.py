"""A model in two parts, by layers or by a function that names them."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Weights
from fedkin.core.tree import Params
from fedkin.methods.fedper import fedper
from fedkin.methods.partial_fl import simultaneous
from fedkin.methods.parts.split_model import split_model
from tests.laws.small import same
from tests.methods.federation import Federated, architecture, arrays, population

MODEL = {"dnn": architecture("dnn")}
WORK = {"steps": 2, "participation": 0.6}


def heads(parameters: Params) -> frozenset[str]:
    return frozenset(name for name in parameters if name.startswith("out."))


@pytest.mark.parametrize("personal", ["last", ("out.",), heads])
@pytest.mark.parametrize("weights", ["samples", "uniform"])
def test_layers_are_named_by_words_or_by_a_function(personal, weights: Weights) -> None:
    """Each is FedPer, and sends the other layers alone."""
    made = split_model(name="mine", personal=personal, work=simultaneous(0.2, 0.2), weights=weights)
    assert made.aggregation.weight == weights
    method = fedper(lr=0.2, weights=weights)
    one, other = (Federated(m, population(), MODEL, **WORK).run(3) for m in (made, method))
    for mine, theirs in zip(one.moments, other.moments, strict=True):
        assert same(arrays(mine.state), arrays(theirs.state))
        assert same(mine.own, theirs.own)
        for up in mine.up.values():
            assert sorted(up["parameters"]) == ["hidden.bias", "hidden.weight"]


def test_layers_that_are_not_there_are_refused_before_training() -> None:
    made = split_model(name="mine", personal=("heads.",), work=simultaneous(0.2, 0.2))
    with pytest.raises(FedkinError, match="personal layer"):
        Federated(made, population(), MODEL).run(1)
