"""From what [privacy] asks to a noise multiplier and a number of rounds."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import parse
from fedkin.setup.accountant import Mechanism, epsilon
from fedkin.setup.noise_calibration import calibrate_noise
from fedkin.setup.privacy import mechanism_of
from tests.engine.small import content


def spec(rounds=40, participation=0.25, **privacy):
    asked = {"clip": 0.5, "delta": 1e-5, **privacy}
    whole = content("fedavg", run__rounds=rounds, run__participation=participation)
    return parse({**whole, "privacy": {k: v for k, v in asked.items() if v is not None}})[0]


def test_without_privacy_nothing_changes() -> None:
    plain = parse(content("fedavg"))[0]
    assert calibrate_noise(plain) is plain


@pytest.mark.rotating
@pytest.mark.parametrize("where", ["server", "client"])
def test_a_target_becomes_noise_that_meets_it(where) -> None:
    target = {"epsilon": 3.0, "delta": 1e-6}
    found = calibrate_noise(spec(noise=target, delta=None, where=where))
    assert found.privacy.delta == 1e-6
    assert 2.9 < epsilon(mechanism_of(found), 40) <= 3.0
    assert isinstance(found.privacy.noise, float)


def test_sampling_helps_only_who_is_hidden_from_those_who_see_who_takes_part() -> None:
    target = {"epsilon": 3.0, "delta": 1e-6}
    server, client = (
        calibrate_noise(spec(noise=target, delta=None, where=where)).privacy.noise
        for where in ("server", "client")
    )
    assert server < client


@pytest.mark.rotating
def test_a_budget_ends_the_run_at_its_last_affordable_round() -> None:
    found = calibrate_noise(spec(noise=1.0, budget=3.0))
    mechanism = Mechanism(1.0, 0.25, 1e-5)
    rounds = found.run.rounds
    assert 0 < rounds < 40
    assert epsilon(mechanism, rounds) <= 3.0 < epsilon(mechanism, rounds + 1)
    assert calibrate_noise(spec(noise=1.0, budget=900.0)).run.rounds == 40


@pytest.mark.rotating
def test_a_budget_below_one_round_is_refused() -> None:
    with pytest.raises(FedkinError, match=r"^privacy\.budget is 0\.01, and one round costs [\d.]+"):
        calibrate_noise(spec(noise=0.3, budget=0.01))
