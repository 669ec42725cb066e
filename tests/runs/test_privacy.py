"""[privacy]: what is understood, what is refused, and what it means."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.privacy import NoiseTarget, PrivacySection, SecureAggregation
from fedkin.runs.spec import parse

WHOLE = {"noise": 1.5, "clip": 2, "delta": 1e-5}


@pytest.mark.parametrize(
    ("changes", "surviving", "at_client"),
    [
        ({}, 1.0, False),
        ({"where": "client"}, 1.0, True),
        ({"where": "distributed", "secure_aggregation": True}, 2 / 3, True),
        ({"where": "distributed", "secure_aggregation": {"threshold": 4}}, 1 / 2, True),
        ({"unit": "sample"}, 1.0, True),
    ],
)
def test_who_adds_noise_and_how_much_of_it_survives(changes, surviving, at_client) -> None:
    found = PrivacySection.model_validate({**WHOLE, **changes})
    assert found.surviving == surviving
    assert found.at_client is at_client
    assert found.of_samples is (changes.get("unit") == "sample")


def test_nothing_is_protected_unless_asked_for() -> None:
    plain = PrivacySection()
    assert (plain.on, plain.at_client, plain.surviving) == (False, False, 1.0)
    masks = PrivacySection.model_validate({"secure_aggregation": True, "seeded": True})
    assert masks.secure_aggregation == SecureAggregation()
    assert not PrivacySection.model_validate({"secure_aggregation": False}).secure_aggregation


def test_what_was_asked_for_is_written_as_it_was() -> None:
    target = PrivacySection.model_validate(
        {"noise": {"epsilon": 8, "delta": 1e-5}, "clip": 1, "delta": 1e-5}
    )
    assert target.noise == NoiseTarget(epsilon=8.0, delta=1e-5)
    assert PrivacySection.model_validate(target.model_dump()) == target


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"noise": 0, "clip": 1}, "must be a number above 0, not 0"),
        ({"noise": 1, "clip": 0}, "must be a number above 0, not 0"),
        (
            {"noise": {"epsilon": -1, "delta": 1e-5}, "clip": 1},
            "epsilon must be a number above 0, not -1",
        ),
        ({"noise": True, "clip": 1}, "must be a number above 0"),
        (
            {"noise": "{epsilon=8", "clip": 1},
            "write a number, or {epsilon = 8, delta = 1e-5}, not '{epsilon=8'",
        ),
        ({"noise": 1e-9, "clip": 1, "delta": 1e-5}, "it must be at least 0.01, not 1e-09"),
        ({**WHOLE, "noise": 1e308}, "so much noise leaves nothing of a model: it must be at most"),
        ({**WHOLE, "clip": 1e300}, "it must be from 1e-09 to 1e+09, not 1e+300"),
        ({**WHOLE, "clip": 1e-300}, "it must be from 1e-09 to 1e+09, not 1e-300"),
        ({**WHOLE, "clip": {"quantile": 0.5, "start": 1e300}}, "start must be from 1e-09 to 1e+09"),
        ({**WHOLE, "noise": 10**400}, "it must be at most 1e+09"),  # larger than any float
        ({**WHOLE, "clip": 10**400}, "it must be from 1e-09 to 1e+09"),
        ({"noise": {"epsilon": 10**400, "delta": 1e-5}, "clip": 1}, "it must be at most 100"),
        ({"noise": {"epsilon": 1e9, "delta": 1e-5}, "clip": 1}, "it must be at most 100"),
        ({"noise": {"epsilon": 8}, "clip": 1}, "noise: no delta: write a number, or {epsilon = 8"),
        (
            {"noise": {"epsilon": 8, "dleta": 1e-5}, "clip": 1},
            "no delta, unknown key 'dleta': write a number, or {epsilon = 8, delta = 1e-5}",
        ),
        ({"noise": 1.0, "delta": 1e-5}, "noise needs privacy.clip"),
        ({"noise": 1.0, "clip": 1}, "a noise multiplier needs privacy.delta"),
        ({"noise": {"epsilon": 1, "delta": 0.1}, "clip": 1, "delta": 0.2}, "stands there twice"),
        ({"clip": 1.0}, "clip protects nobody without noise"),
        ({**WHOLE, "delta": 1}, "above 0 and below 1"),
        ({**WHOLE, "delta": 9e-13}, "no epsilon is known of so small a delta: take 1e-12 or"),
        ({**WHOLE, "where": "distributed"}, "which hides nothing without masks"),
        ({**WHOLE, "personal": "plain"}, "personal = 'plain' is for unit = 'sample'"),
        ({**WHOLE, "unit": "sample", "personal": "some"}, "personal"),
        ({"secure_aggregation": {"threshold": 0}}, "threshold must be a number of participants"),
        ({"secure_aggregation": 7}, "write true, or {threshold = 7}"),
    ],
)
def test_what_is_refused(content, said) -> None:
    with pytest.raises(FedkinError) as told:
        parse({"privacy": content}, where="x.toml")
    assert said in str(told.value)
    assert str(told.value).count(", not ") <= 1  # what was given is said once
    assert "\n" not in str(told.value)
