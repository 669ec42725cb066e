"""What validation data say of the trials of a study, and their order."""

from types import SimpleNamespace

import pytest

from fedkin.sweep.score import Score, facts_of, lost, places, scored


def study(**attrs):
    return SimpleNamespace(user_attrs={key.replace("_", " "): v for key, v in attrs.items()})


def trial(number, value):
    return SimpleNamespace(number=number, value=value)


@pytest.mark.parametrize(("measure", "objective"), [("accuracy", 0.75), ("rmse", -0.75)])
def test_a_study_maximizes_and_a_score_is_what_was_measured(measure, objective) -> None:
    assert Score(measure, 0.75).objective == objective
    assert scored(study(measure=measure), trial(3, objective)) == Score(measure, 0.75)


def test_scores_by_client_are_those_of_the_trial() -> None:
    told = study(measure="rmse", clients_1={"10": 2.0, "9": 1.0}, clients_11={"0": 5.0})
    assert scored(told, trial(1, -1.5)).clients == {10: 2.0, 9: 1.0}
    assert scored(told, trial(2, -1.5)).clients == {}
    told = study(measure="rmse", unscored_2="of round 3")
    assert [scored(told, trial(k, -1.5)).unscored for k in (1, 2)] == ["", "of round 3"]
    assert scored(told, trial(1, None)) is None
    assert scored(study(), trial(1, 0.5)).measure == "accuracy"  # of a study that says none


def test_trials_without_a_value_say_why() -> None:
    told = study(lost_3="diverged", measure="accuracy", lost_12="no room")
    assert lost(told) == {3: "diverged", 12: "no room"}


def test_differences_that_may_be_chance_share_a_place() -> None:
    clients = range(12)

    def of(measure, *values):
        return Score(measure, sum(values) / 12, dict(zip(clients, values)))

    good = [0.8 + 0.01 * (k % 3) for k in clients]
    same = [0.8 + 0.01 * ((k + 1) % 3) for k in clients]
    bad = [0.5 + 0.01 * (k % 5) for k in clients]
    scores = [of("accuracy", *bad), of("accuracy", *good), of("accuracy", *same)]
    assert places(scores) == [(3, False), (1, True), (1, True)]
    errors = [one._replace(measure="rmse") for one in scores]
    assert places(errors)[0] == (1, False)  # less is better
    assert places([]) == []


def test_the_first_place_is_the_studys_best() -> None:
    """A study chooses by the mean over samples; the mean over clients says otherwise here."""
    samples = {0: 900} | dict.fromkeys(range(1, 11), 10)
    best = Score("accuracy", 0.86, {0: 0.9} | dict.fromkeys(range(1, 11), 0.5), samples)
    other = Score("accuracy", 0.61, {0: 0.6} | dict.fromkeys(range(1, 11), 0.7), samples)
    assert places([best, other])[0][0] == 1
    told = study(measure="accuracy", samples={"0": 900}, clients_1={"0": 0.5})
    assert scored(told, trial(1, 0.5)).samples == {0: 900}


def test_a_score_is_read_as_it_was_kept() -> None:
    score = Score("rmse", 2.5, {0: 2.0, 3: 3.0}, {0: 4, 3: 4}, "of an earlier round", 7)
    kept = trial(5, score.objective)
    assert scored(SimpleNamespace(user_attrs=facts_of(score, 5)), kept) == score
