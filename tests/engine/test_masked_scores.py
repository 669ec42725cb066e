"""What clients say of an evaluation under masks, and what the federation's means are."""

import math

import pytest
import torch

from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_numbers import mean_of, vector_of
from fedkin.engine.masked_scores import (
    DIGITS,
    LARGEST,
    PLACES,
    Place,
    blank,
    means_of,
    numbers_of,
)
from fedkin.runs.record import FEDERATION

ONE = Evaluation(
    scores={
        "personal": {"val": (1.0, 0.5), "test": (2.0, 0.25), "train": (0.5, 1.0)},
        "global": {"val": (3.0, 0.0), "test": (4.0, 0.125)},
    },
    measures={"personal": {"val": {"auc": 0.75}, "test": {"auc": 0.5, "se": 0.1}}},
    notes={"alpha": 0.3},
)
OTHER = Evaluation(
    {
        "personal": {"val": (4.0, 1.0), "test": (6.0, 0.75)},
        "global": {"val": (6.0, 1.0), "test": (math.nan, math.nan)},
    }
)


def added(*messages):
    """The mean of messages, and of how many it is."""
    return {"scores": sum(message["scores"] for message in messages) / len(messages)}, len(messages)


def of(validation, test=1):
    return {"val": validation, "test": test}


def test_validation_is_weighted_by_samples_and_test_counts_clients_alike():
    scores, measures, _ = means_of(*added(numbers_of(ONE, of(10)), numbers_of(OTHER, of(30))))
    personal = scores[FEDERATION]["personal"]
    assert personal["val"] == ((10 * 1.0 + 30 * 4.0) / 40, (10 * 0.5 + 30 * 1.0) / 40)
    assert personal["test"] == (4.0, 0.5)
    assert personal["train"] == (0.5, 1.0)  # one client has it
    assert scores[FEDERATION]["global"]["test"] == (4.0, 0.125)  # the other has no test samples
    assert measures == {FEDERATION: {"personal": {"val": {"auc": 0.75}, "test": {"auc": 0.5}}}}
    assert list(scores) == [FEDERATION]


def test_every_client_sends_one_form_whatever_it_has():
    forms = {
        tuple(numbers_of(record, of(n))["scores"].shape) for record, n in ((ONE, 1), (OTHER, 9))
    }
    nothing = numbers_of(Evaluation(), of(5))
    assert forms == {tuple(blank()["scores"].shape), tuple(nothing["scores"].shape)}
    assert not nothing["scores"].any()


def test_notes_and_unknown_views_are_in_no_number():
    apart = ONE._replace(notes={"alpha": 0.9})
    seen = ONE._replace(scores={**ONE.scores, "mine": {"test": (9.0, 0.9)}})
    for other in (apart, seen):
        assert torch.equal(numbers_of(other, of(3))["scores"], numbers_of(ONE, of(3))["scores"])


@pytest.mark.parametrize("loss", [math.inf, math.nan, 2 * LARGEST, -2 * LARGEST])
def test_what_is_no_loss_counts_for_nothing(loss):
    wrong = Evaluation({"personal": {"test": (loss, 0.5)}})
    scores, _, _ = means_of(*added(numbers_of(wrong, of(1)), numbers_of(OTHER, of(1))))
    assert scores[FEDERATION]["personal"]["test"] == (6.0, 0.625)
    alone, _, _ = means_of(numbers_of(wrong, of(1)), 1)
    assert math.isnan(alone[FEDERATION]["personal"]["test"][0])


@pytest.mark.parametrize("size", [6631662.9, 1e12, 1e25])
def test_losses_and_measures_of_large_labels_are_in_the_mean(size):
    """Poisson deviances and squared errors of prices are above a million."""
    record = Evaluation(
        {"personal": {"val": (size, math.nan), "test": (size, math.nan)}},
        measures={"personal": {"val": {"deviance": -size}}},
    )
    masked = [vector_of(numbers_of(record, of(10_000)), 1.0, DIGITS) for _ in range(3)]
    scores, measures, _ = means_of(mean_of(sum(masked[1:], masked[0]), blank(), 3.0, 3), 3)
    assert scores[FEDERATION]["personal"]["val"][0] == pytest.approx(size, rel=1e-12)
    assert scores[FEDERATION]["personal"]["test"][0] == pytest.approx(size, rel=1e-12)
    assert measures[FEDERATION]["personal"]["val"]["deviance"] == pytest.approx(-size, rel=1e-12)


def test_one_client_that_diverged_spoils_the_validation_loss_and_is_counted():
    lost = Evaluation({"personal": {"val": (math.nan, 0.0), "test": (math.nan, 0.0)}})
    scores, _, counted = means_of(*added(numbers_of(ONE, of(10)), numbers_of(lost, of(10))))
    loss, accuracy = scores[FEDERATION]["personal"]["val"]
    assert math.isnan(loss)
    assert accuracy == 0.25  # it predicts nothing
    assert scores[FEDERATION]["personal"]["test"] == (2.0, 0.125)
    assert counted["personal"]["loss"] == (1, 1)
    assert counted["personal"]["accuracy"] == (2, 0)
    assert counted["personal"]["auc"] == (1, 1)  # of one class alone, or diverged
    without = means_of(*added(numbers_of(ONE, of(10)), numbers_of(lost, of(0, 0))))
    assert without.scores[FEDERATION]["personal"]["val"][0] == 1.0  # it has no samples to say so
    assert without.counted["personal"]["loss"] == (1, 0)


def test_without_anything_there_is_a_personal_view_without_numbers():
    scores, measures, _ = means_of(blank(), 3)
    assert list(scores[FEDERATION]) == ["personal"]
    assert all(
        math.isnan(number) for pair in scores[FEDERATION]["personal"].values() for number in pair
    )
    assert measures == {FEDERATION: {}}


def test_each_place_stands_there_once():
    assert len(set(PLACES)) == len(PLACES)
    assert Place("personal", "val", "loss") in PLACES
    assert Place("global", "test", "measure auc") in PLACES
