"""FedRep."""

import pytest

from fedkin.methods import make
from tests.laws.small import same
from tests.methods.federation import (
    Federated,
    architecture,
    population,
)
from tests.methods.partial_fl_examples import (
    LR,
    ROUNDS,
    SPLITS,
    WORK,
    compare,
)


@pytest.mark.certifies("fedrep", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedrep(split, work):
    """The head's τ steps, then those of the representation; the plain mean at the server."""
    kind, choice, names = split
    hyper = {"personal": choice, "personal_steps": 5, "personal_lr": 0.2}
    compare("fedrep", kind, names, work, hyper, alternate=True, uniform=True)


@pytest.mark.certifies("fedrep", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_fedrep_is_fedalt_with_a_plain_mean(work):
    """Equal to the bit, in states, messages and what clients keep."""
    both = [
        Federated(
            make(name, {"weights": "uniform", "personal_steps": 2}, {"lr": LR}),
            population(),
            {"dnn": architecture("dnn")},
            **work,
        ).run(ROUNDS)
        for name in ("fedrep", "partial_fl")
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.own, b.own)
        assert same(a.up, b.up)
