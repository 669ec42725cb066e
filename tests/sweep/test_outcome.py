"""What a study found, as plain values."""

from pathlib import Path
from types import SimpleNamespace

from fedkin.sweep.outcome import outcome


def trial(number, value, state, **attrs):
    return SimpleNamespace(
        number=number,
        value=value,
        state=SimpleNamespace(name=state),
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
