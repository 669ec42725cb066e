"""A comparator outside federation: FedAvg with one participant, whose data are everybody's."""

import torch

from fedkin.core.rng import Key
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.methods.centralized import centralized
from fedkin.methods.fedavg import fedavg
from fedkin.runtime.replay import Runtime
from tests.methods.federation import Federated, population


def test_it_says_that_no_federation_could_run_it() -> None:
    method = centralized(lr=0.3)
    assert method.needs.pooled
    assert not fedavg(lr=0.3).needs.pooled
    assert (method.name, dict(method.hyper)) == ("centralized", {"lr": 0.3})


def test_a_round_is_sgd_on_the_union() -> None:
    people = population(sizes=(5, 9, 4))
    run = Federated(centralized(lr=0.3), people, steps=3, participation=1 / 3).setup()
    before = {name: value.clone() for name, value in run.coordinator.state["parameters"].items()}
    run.run(1)
    after = run.coordinator.state["parameters"]
    pooled = people.pooled()
    (worker,) = run.moments[-1].record.participants
    host = run.host.training(1, worker)
    assert host.info.samples == 18
    own = LocalData(
        host.info, host.model, Key(7, 1, worker), pooled, Runtime("never"), Schedule(4, 3)
    )
    _, sent = fedavg(lr=0.3).client_update({"parameters": before}, {}, own)
    for name, value in after.items():
        torch.testing.assert_close(value, sent["parameters"][name], rtol=1e-12, atol=0)
