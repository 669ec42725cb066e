"""What a transform keeps at each client beside what the method keeps there."""

import numpy as np
import torch

from fedkin.methods import make
from fedkin.transforms.extra_state import with_client_state
from tests.methods.federation import Federated, arrays, population

PEOPLE = population(sizes=(5, 9, 4))


def kept(method):
    return with_client_state(
        method, lambda initial: {"first": dict(initial), "count": torch.zeros(2)}
    )


def test_the_method_computes_what_it_computes_without() -> None:
    for name, hyper in (("ditto", {"lam": 0.3}), ("apfl", {}), ("finetune", {"epochs": 1})):
        method = make(name, hyper, {"lr": 0.1})
        plain, wrapped = (
            Federated(each, PEOPLE, steps=3).run(2) for each in (method, kept(method))
        )
        for a, b in zip(plain.moments, wrapped.moments, strict=True):
            assert a.record.scores == b.record.scores
            assert a.record.notes == b.record.notes
            for client, own in a.own.items():
                np.testing.assert_equal(b.own[client]["own"], own)
        ends = [arrays(run.finish().own) for run in (plain, wrapped)]
        np.testing.assert_equal({k: own["own"] for k, own in ends[1].items()}, ends[0])


def test_what_is_beside_stays() -> None:
    run = Federated(kept(make("ditto", {"lam": 0.3}, {"lr": 0.1})), PEOPLE, steps=3).run(2)
    (model,) = run.models.values()
    for own in run.moments[-1].own.values():
        assert own.keys() == {"own", "first", "count"}
        np.testing.assert_equal(own["first"], arrays(model.initial))
        assert own["count"].tolist() == [0, 0]


def test_a_method_without_a_finish_or_an_introduction_gets_none() -> None:
    plain = kept(make("fedavg", {}, {"lr": 0.1}))
    assert (plain.finalize, plain.setup_message) == (None, None)
    assert kept(make("finetune", {"epochs": 1}, {"lr": 0.1})).finalize is not None
    assert kept(make("feddbe", {}, {"lr": 0.1})).setup_message is not None
