"""The clients' side of secure aggregation in a host: messages that wait until they are masked."""

import pytest
import torch

from fedkin.core.aggregation import WeightedSum
from fedkin.core.rng import seeded
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_scores import Place, say_opened
from fedkin.engine.masking import Masking
from fedkin.engine.op import COUNT_STAGES, OPENING, SCORE_STAGES, SCORING, STAGES
from fedkin.masks.randomness import not_private
from fedkin.masks.wire import Refused, Stage, sealed

MESSAGE = {"parameters": {"w": torch.tensor([1.0, -2.0])}, "coefficients": torch.ones(2)}


def masking(weight="samples"):
    how = WeightedSum(weight)
    return Masking(3, how, lambda round, client: not_private(seeded(5), round, client))


def test_a_message_waits_and_its_keys_are_said_instead() -> None:
    host = masking()
    assert host.waiting(4) is None
    keys = host.begin(1, 4, MESSAGE, 30.0)
    assert host.waiting(4).message is MESSAGE
    assert host.waiting(5) is None
    assert b"parameters" not in keys
    assert keys != host.begin(1, 5, MESSAGE, 30.0)  # each client has its own
    assert keys == masking().begin(1, 4, MESSAGE, 1.0)
    assert keys != masking().begin(2, 4, MESSAGE, 30.0)  # and in each round


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_answered_that_nothing_waits_for(stage) -> None:
    host = masking()
    host.begin(1, 4, MESSAGE, 30.0)
    for round, client in ((1, 5), (2, 4)):
        with pytest.raises(Refused, match=f"{stage}: this client has no work of round {round} th"):
            host.answer(stage, round, client, b"")


def test_it_is_revealed_once() -> None:
    host = masking()
    host.begin(1, 4, MESSAGE, 30.0)
    with pytest.raises(Refused):
        host.answer("reveal", 1, 4, b"out of order")
    assert host.waiting(4) is None
    with pytest.raises(Refused, match="no work of round 1 that waits"):
        host.answer("reveal", 1, 4, b"")


def test_a_new_round_takes_the_place_of_the_old_one() -> None:
    host = masking()
    host.begin(1, 4, MESSAGE, 30.0)
    later = {"parameters": {"w": torch.zeros(2)}}
    host.begin(2, 4, later, 30.0)
    assert host.waiting(4).message is later
    with pytest.raises(Refused):
        host.answer("shares", 1, 4, b"")


def test_scores_wait_beside_an_update_with_keys_of_their_own() -> None:
    host = masking()
    record = Evaluation({"personal": {"test": (0.5, 0.75)}}, {"alpha": 0.25})
    update = host.begin(1, 4, MESSAGE, 30.0)
    scores = host.begin_scores(1, 4, record, {"val": 10, "test": 10})
    assert update[:9] != scores[:9]  # a header of another number
    assert update[17:] != scores[17:]
    assert host.waiting(4).message is MESSAGE
    assert host.waiting(4, SCORE_STAGES[-1]).record is record
    for stage in SCORING:
        with pytest.raises(Refused, match=f"{stage}: this client has no work of round 2"):
            host.answer(stage, 2, 4, b"")
    with pytest.raises(Refused, match="a message of round 1 arrived in round 1073741825"):
        host.answer("count_shares", 1, 4, sealed(Stage.ROSTER, 1, [], 3))


def test_scores_have_keys_once_it_is_said_which_are_asked_for() -> None:
    host = masking()
    record = Evaluation({"personal": {"test": (0.5, 0.75)}})
    counts = host.begin_scores(1, 4, record, {"val": 10, "test": 10})
    assert host.waiting(4, COUNT_STAGES[-1]).message["counts"].sum() == 3  # with who has samples
    with pytest.raises(Refused, match="roster was asked for, and advertise comes next"):
        host.answer("score_shares", 1, 4, sealed(Stage.ROSTER, 1, [], 3))
    place = Place("personal", "test", "loss")
    scores = host.answer(OPENING, 1, 4, say_opened([place]))
    assert scores[17:] != counts[17:]
    assert host.waiting(4, SCORE_STAGES[-1]).message["scores"].tolist() == [[1.0, 0.5]]
    with pytest.raises(Refused, match="advertise was asked for"):
        host.answer(OPENING, 1, 4, say_opened([place, place._replace(name="accuracy")]))
    assert host.waiting(4, SCORE_STAGES[-1]).message["scores"].tolist() == [[1.0, 0.5]]
