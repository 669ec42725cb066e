"""What a study found, as plain values."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fedkin.core.errors import FedkinError
from fedkin.sweep.outcome import costs_of_trials, outcome


def trial(number, value, state, **attrs):
    return SimpleNamespace(
        number=number,
        value=value,
        state=SimpleNamespace(name=state),
        distributions={},
        params={"train.lr": 0.1 * (number + 1)},
        user_attrs=attrs,
    )


def test_a_trial_that_nobody_can_go_on_with_is_not_under_way() -> None:
    """A process may be killed after Optuna has a trial, and before the trial has its folder."""
    trials = [
        trial(0, 0.5, "COMPLETE", folder="0000"),
        trial(1, None, "RUNNING"),
        trial(2, None, "RUNNING", folder="0002"),
    ]
    found = outcome(SimpleNamespace(trials=trials, user_attrs={}), Path("out"), [])
    assert found["running"] == 1
    assert found["best"]["run"] == str(Path("out") / "0000")


def test_of_equal_trials_the_first_is_the_best() -> None:
    """Their means may differ in their last bits, by the order of a sum."""
    values = [0.3, 0.1 + 0.2]
    trials = [trial(k, value, "COMPLETE", folder=f"000{k}") for k, value in enumerate(values)]
    found = outcome(SimpleNamespace(trials=trials, user_attrs={}), Path("out"), [])
    assert [one["validation"] for one in found["trials"]] == values
    assert [one["rank"] for one in found["trials"]] == [1, 1]


@pytest.mark.parametrize(
    ("attrs", "folder"),
    [
        ({"measure": "nonsense"}, "0000"),
        ({"clients 0": [1], "measure": "accuracy"}, "0000"),
        ({"samples": {"0": "x"}, "clients 0": {"0": 1.0}, "clients 1": {"0": 0.5}}, "0000"),
        ({"lost x": "a reason"}, "0000"),
        ({}, "../elsewhere"),
        ({}, ".."),
        ({}, 7),
    ],
)
def test_a_study_that_somebody_edited_is_told_in_a_sentence(attrs, folder) -> None:
    trials = [trial(k, 0.5, "COMPLETE", folder=folder) for k in range(2)]
    study = SimpleNamespace(trials=trials, user_attrs=attrs)
    with pytest.raises(FedkinError, match=r"^out/study\.db cannot be used: it holds what"):
        outcome(study, Path("out"), [])


def test_costs_are_of_runs_in_the_sweeps_own_folder() -> None:
    study = SimpleNamespace(trials=[trial(0, 0.5, "COMPLETE", folder="../b/0000")], user_attrs={})
    with pytest.raises(FedkinError, match=r"did not write \(ValueError: a trial's folder '\.\./b/"):
        costs_of_trials(study, Path("out"))


def test_it_says_how_many_rounds_each_trial_was_trained() -> None:
    trials = [trial(k, 0.5 - k / 10, "COMPLETE", folder=f"000{k}") for k in range(2)]
    study = SimpleNamespace(trials=trials, user_attrs={"rounds 0": 3})  # of 1: none was kept once
    assert [one.get("rounds") for one in outcome(study, Path("out"), [])["trials"]] == [3, None]
