"""What clients say of an evaluation under masks, and what the federation's means are."""

import math

import pytest
import torch

from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_numbers import mean_of, vector_of
from fedkin.engine.masked_scores import (
    DIGITS,
    LARGEST,
    LOST,
    PLACES,
    Place,
    blank_counts,
    blank_scores,
    client_counts,
    decode_places,
    encode_places,
    means_of,
    presence_of,
    revealed_places,
    weighted_scores,
)
from fedkin.masks.wire import Refused
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


def added(*told, threshold=None):
    """The means of clients' (record, samples), of which all may be known but for a threshold."""
    counted = client_counts(mean([presence_of(*one) for one in told]), len(told))
    places = [place for place in PLACES if place.name != LOST]
    if threshold is not None:
        places = revealed_places(counted, threshold)
    if not places:
        return means_of(counted)
    return means_of(
        counted, places, mean([weighted_scores(*one, places) for one in told]), len(told)
    )


def mean(messages):
    (kind,) = messages[0]
    return {kind: sum(message[kind] for message in messages) / len(messages)}


def of(validation, test=1):
    return {"val": validation, "test": test}


def test_validation_is_weighted_by_samples_and_test_counts_clients_alike():
    scores, measures, *_ = added((ONE, of(10)), (OTHER, of(30)))
    personal = scores[FEDERATION]["personal"]
    assert personal["val"] == ((10 * 1.0 + 30 * 4.0) / 40, (10 * 0.5 + 30 * 1.0) / 40)
    assert personal["test"] == (4.0, 0.5)
    assert personal["train"] == (0.5, 1.0)  # one client has it
    assert scores[FEDERATION]["global"]["test"] == (4.0, 0.125)  # the other has no test samples
    assert measures == {FEDERATION: {"personal": {"val": {"auc": 0.75}, "test": {"auc": 0.5}}}}
    assert list(scores) == [FEDERATION]


def test_every_client_sends_one_form_whatever_it_has():
    places = (Place("personal", "val", "loss"), Place("personal", "test", "measure auc"))
    for record, size in ((ONE, 1), (OTHER, 9), (Evaluation(), 5)):
        assert presence_of(record, of(size))["counts"].shape == blank_counts()["counts"].shape
        assert (
            weighted_scores(record, of(size), places)["scores"].shape
            == blank_scores(places)["scores"].shape
        )
    assert not presence_of(Evaluation(), of(5))["counts"].any()
    assert not weighted_scores(Evaluation(), of(5), places)["scores"].any()


def test_notes_and_unknown_views_are_in_no_number():
    apart = ONE._replace(notes={"alpha": 0.9})
    seen = ONE._replace(scores={**ONE.scores, "mine": {"test": (9.0, 0.9)}})
    for other in (apart, seen):
        assert torch.equal(presence_of(other, of(3))["counts"], presence_of(ONE, of(3))["counts"])
        assert added((other, of(3))) == added((ONE, of(3)))


@pytest.mark.parametrize("having", range(7))
def test_what_fewer_than_the_threshold_have_is_not_asked_for(having):
    """A sum of one client would be its own number, and less of two would be each one's to the
    other.
    """
    some = [(ONE, of(10))] * having + [(Evaluation(ONE.scores), of(10))] * (6 - having)
    means = added(*some, threshold=5)
    known = means.measures[FEDERATION].get("personal", {}).get("test", {})
    assert known == ({"auc": 0.5} if having >= 5 else {})
    assert means.counted["personal"]["auc"] == ((having, 6 - having) if having >= 5 else (0, 6))
    assert means.scores[FEDERATION]["personal"]["test"] == (2.0, 0.25)


def test_clients_are_counted_to_the_nearest_whole_number():
    """One of 49 is a share that times 49 is below 1."""
    assert int(1 / 49 * 49) == 0
    told = [(ONE, of(10))] + [(Evaluation(ONE.scores), of(10))] * 48
    counted = client_counts(mean([presence_of(*one) for one in told]), 49)
    assert counted.having[Place("personal", "test", "measure auc")] == 1
    assert added(*told).counted["personal"]["auc"] == (1, 48)


@pytest.mark.parametrize(
    ("clients", "threshold", "least"), [(3, 3, 3), (4, 3, 4), (6, 4, 5), (6, 5, 5), (100, 67, 67)]
)
def test_a_sum_is_of_three_clients_whoever_drops_out_after_the_count(clients, threshold, least):
    place = Place("personal", "test", "loss")
    for having in range(clients + 1):
        counted = client_counts(blank_counts(), clients)
        counted = counted._replace(having={**counted.having, place: having})
        assert (place in revealed_places(counted, threshold)) == (having >= least)
        assert having < least or having - (clients - threshold) >= 3


def test_validation_that_few_have_is_not_weighed_either():
    """Its weight would be the number of one client's validation samples."""
    told = [(ONE, of(10))] + [(ONE, of(0))] * 3
    counted = client_counts(mean([presence_of(*one) for one in told]), 4)
    assert {place.split for place in revealed_places(counted, 3)} == {"train", "test"}
    means = added(*told, threshold=3)
    assert math.isnan(means.scores[FEDERATION]["personal"]["val"][0])
    assert means.some_loss


def test_a_list_of_scores_is_said_and_read():
    places = (PLACES[0], PLACES[3])
    assert decode_places(encode_places(places)) == places
    lost = Place("personal", "test", LOST)
    whole = encode_places(places)
    for wrong in (b"", whole[:-1], whole + bytes(1), b"2" + whole[1:], bytes(len(PLACES))):
        with pytest.raises(Refused, match="no list of scores"):
            decode_places(wrong)
    with pytest.raises(Refused, match="no list of scores"):
        decode_places(encode_places([lost]))


@pytest.mark.parametrize("loss", [math.inf, math.nan, 2 * LARGEST, -2 * LARGEST])
def test_what_is_no_loss_counts_for_nothing(loss):
    wrong = Evaluation({"personal": {"test": (loss, 0.5)}})
    scores, *_ = added((wrong, of(1)), (OTHER, of(1)))
    assert scores[FEDERATION]["personal"]["test"] == (6.0, 0.625)
    alone = added((wrong, of(1)))
    assert math.isnan(alone.scores[FEDERATION]["personal"]["test"][0])
    assert not alone.some_loss


def test_clients_without_samples_have_lost_no_loss():
    """They did not diverge: the run goes on."""
    nothing = Evaluation({"personal": dict.fromkeys(("val", "test"), (math.nan, math.nan))})
    none = {"val": 0, "test": 0}
    assert added((nothing, none), (nothing, none)).some_loss


@pytest.mark.parametrize("size", [6631662.9, 1e12, 1e25])
def test_losses_and_measures_of_large_labels_are_in_the_mean(size):
    """Poisson deviances and squared errors of prices are above a million."""
    record = Evaluation(
        {"personal": {"val": (size, math.nan), "test": (size, math.nan)}},
        measures={"personal": {"val": {"deviance": -size}}},
    )
    counted = client_counts(presence_of(record, of(10_000)), 3)
    places = revealed_places(counted, 3)
    masked = [vector_of(weighted_scores(record, of(10_000), places), 1.0, DIGITS) for _ in range(3)]
    summed = mean_of(sum(masked[1:], masked[0]), blank_scores(places), 3.0, 3)
    scores, measures, *_ = means_of(counted, places, summed, 3)
    assert scores[FEDERATION]["personal"]["val"][0] == pytest.approx(size, rel=1e-12)
    assert scores[FEDERATION]["personal"]["test"][0] == pytest.approx(size, rel=1e-12)
    assert measures[FEDERATION]["personal"]["val"]["deviance"] == pytest.approx(-size, rel=1e-12)


def test_one_client_that_diverged_spoils_the_validation_loss_and_is_counted():
    lost = Evaluation({"personal": {"val": (math.nan, 0.0), "test": (math.nan, 0.0)}})
    scores, _, counted, _ = added((ONE, of(10)), (lost, of(10)))
    loss, accuracy = scores[FEDERATION]["personal"]["val"]
    assert math.isnan(loss)
    assert accuracy == 0.25  # it predicts nothing
    assert scores[FEDERATION]["personal"]["test"] == (2.0, 0.125)
    assert counted["personal"]["loss"] == (1, 1)
    assert counted["personal"]["accuracy"] == (2, 0)
    assert counted["personal"]["auc"] == (1, 1)  # of one class alone, or diverged
    without = added((ONE, of(10)), (lost, of(0, 0)))
    assert without.scores[FEDERATION]["personal"]["val"][0] == 1.0  # it has no samples to say so
    assert without.counted["personal"]["loss"] == (1, 0)


def test_without_anything_there_is_a_personal_view_without_numbers():
    scores, measures, *_ = means_of(client_counts(blank_counts(), 3))
    assert list(scores[FEDERATION]) == ["personal"]
    assert all(
        math.isnan(number) for pair in scores[FEDERATION]["personal"].values() for number in pair
    )
    assert measures == {FEDERATION: {}}


def test_each_place_stands_there_once():
    assert len(set(PLACES)) == len(PLACES)
    assert Place("personal", "val", "loss") in PLACES
    assert Place("global", "test", "measure auc") in PLACES
