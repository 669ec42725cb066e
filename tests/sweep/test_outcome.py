"""What a study found, as plain values."""

from pathlib import Path
from types import SimpleNamespace

from fedkin.sweep.outcome import outcome


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
