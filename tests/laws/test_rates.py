"""Learning rates beside that of local SGD follow the schedule too."""

from dataclasses import replace

import pytest

from fedkin.methods import make
from tests.laws.small import HYPER, people, same
from tests.methods.federation import Federated, architecture


@pytest.mark.parametrize(
    ("name", "rate"), [("fedmd", "public_lr"), ("fedrod", "personal_lr"), ("fedsim", "personal_lr")]
)
def test_rates_twice_as_high_in_a_round_that_halves_them_move_a_client_alike(name, rate):
    """At a client whose first round is a later one: FedMD's transfer is in no other."""

    def moved(height, **schedule):
        made = make(name, {**HYPER[name], rate: 0.2 * height}, {"lr": 0.1 * height})
        run = Federated(made, people(), {"dnn": architecture("dnn")}, steps=3).setup()
        data = run.host.data(2, 0)
        told = replace(data, schedule=data.schedule._replace(**schedule))
        received = made.broadcast(run.coordinator.state, 0)
        return made.client_update(received, run.host.personal_state(0), told)[0]

    plain = moved(1)
    assert same(plain, moved(2, milestones=(1,), milestone_factor=0.5))
    assert not same(plain, moved(2))
