"""The clients' side of secure aggregation in a host: messages that wait until they are masked."""

import pytest
import torch

from fedkin.core.aggregation import WeightedSum
from fedkin.core.rng import seeded
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_scores import Place, encode_places
from fedkin.engine.masking import Masking
from fedkin.engine.op import COUNT_STAGES, OPENING, SCORE_STAGES, SCORING, STAGES
from fedkin.masks.keys import KEY
from fedkin.masks.randomness import not_private
from fedkin.masks.signatures import SIGNATURE, Identity, signed_statement
from fedkin.masks.terms import Bounds, of_counts, of_scores
from fedkin.masks.wire import HEADER, Refused, Stage, sealed
from tests.masks.signers import identity

BOUNDS = Bounds(threshold=3, most=4)
MESSAGE = {"parameters": {"w": torch.tensor([1.0, -2.0])}, "coefficients": torch.ones(2)}


def masking(weight="samples"):
    how = WeightedSum(weight)
    return Masking(BOUNDS, how, lambda round, client: not_private(seeded(5), round, client))


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


def test_who_survived_is_signed_by_who_has_an_identity_alone() -> None:
    host = masking()
    host.begin(1, 4, MESSAGE, 30.0)
    with pytest.raises(
        Refused, match="agree: nobody signs in this round, since clients have no id"
    ):
        host.answer("agree", 1, 4, b"")
    assert host.waiting(4).message is MESSAGE
    draw = lambda round, client: not_private(seeded(5), round, client)  # noqa: E731
    signing = Masking(BOUNDS, WeightedSum(), draw, identity(4))
    record = Evaluation({"personal": {"test": (0.5, 0.75)}})
    signing.begin(1, 4, MESSAGE, 30.0)
    signing.begin_scores(1, 4, record, {"val": 10, "test": 10})
    signing.answer(OPENING, 1, 4, encode_places([Place("personal", "test", "loss")]))
    for stages in (STAGES, COUNT_STAGES, SCORE_STAGES):
        with pytest.raises(Refused, match="survivors was asked for, and roster comes next"):
            signing.answer(stages[2], 1, 4, b"")
        with pytest.raises(Refused, match="signed was asked for, and roster comes next"):
            signing.answer(stages[3], 1, 4, b"")


def test_the_newest_round_waits_beside_the_one_that_was_begun_last() -> None:
    """An older request may arrive late: it must not take the keys of the round away."""
    host = masking()
    late = {"parameters": {"w": torch.zeros(2)}}
    for round, message in ((3, MESSAGE), (2, late), (1, late)):
        host.begin(round, 4, message, 30.0)
        assert host.waiting(4).message is message
    with pytest.raises(Refused, match="shares: this client has no work of round 2 that waits"):
        host.answer("shares", 2, 4, b"")
    for round in (1, 3):
        with pytest.raises(Refused, match="roster"):
            host.answer("shares", round, 4, b"")
    host.begin(4, 4, MESSAGE, 30.0)
    host.begin(4, 4, MESSAGE, 30.0)  # with other keys, in the place of the first
    for round, why in ((1, "no work of round 1"), (3, "delivery comes next")):
        with pytest.raises(Refused, match=why):
            host.answer("shares", round, 4, b"")
    with pytest.raises(Refused, match="roster"):
        host.answer("shares", 4, 4, b"")


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
    scores = host.answer(OPENING, 1, 4, encode_places([place]))
    assert scores[17:] != counts[17:]
    assert host.waiting(4, SCORE_STAGES[-1]).message["scores"].tolist() == [[1.0, 0.5]]
    with pytest.raises(Refused, match="advertise was asked for"):
        host.answer(OPENING, 1, 4, encode_places([place, place._replace(name="accuracy")]))
    assert host.waiting(4, SCORE_STAGES[-1]).message["scores"].tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize(("weight", "told"), [("samples", 30.0), ("uniform", 1.0)])
def test_a_message_weighs_what_its_method_says(weight, told) -> None:
    host = masking(weight)
    host.begin(1, 4, MESSAGE, 30.0)
    assert host.waiting(4).weight == told
    host.begin_scores(1, 4, Evaluation({"personal": {"test": (0.5, 0.75)}}), {"val": 9, "test": 7})
    for last in (COUNT_STAGES[-1], SCORE_STAGES[-1]):  # scores have their weights in them
        assert host.waiting(4, last).weight == 1.0
    assert host.waiting(4, SCORE_STAGES[-1]).samples == {"val": 9, "test": 7}


def public(blob: bytes) -> bytes:
    return blob[HEADER.size : HEADER.size + 2 * KEY]


def test_all_keys_are_signed_with_what_the_client_was_sent() -> None:
    signed: list[bytes] = []

    def sign(content: bytes) -> bytes:
        signed.append(content)
        return bytes([len(signed)]) * SIGNATURE

    draw = lambda round, client: not_private(seeded(5), round, client)  # noqa: E731
    host = Masking(BOUNDS, WeightedSum(), draw, Identity(sign, lambda *_: False))
    record = Evaluation({"personal": {"test": (0.5, 0.75)}})
    update = host.begin(1, 4, MESSAGE, 30.0, b"the model")
    counts = host.begin_scores(2, 4, record, {"val": 10, "test": 10}, b"the next one")
    place = Place("personal", "test", "loss")
    scores = host.answer(OPENING, 2, 4, encode_places([place]))
    assert signed == [
        signed_statement(1, 4, public(update), b"the model"),
        signed_statement(of_counts(2), 4, public(counts), b"the next one"),
        signed_statement(of_scores(2), 4, public(scores), b"the next one"),
    ]
    for number, blob in enumerate((update, counts, scores), start=1):
        assert blob.endswith(bytes([number]) * SIGNATURE)
    roster = sealed(Stage.ROSTER, 1, [(4).to_bytes(4, "little") + public(update) + b"1" * 96], 3)
    with pytest.raises(Refused, match="the keys of client 4 are not signed by its node"):
        host.answer("shares", 1, 4, roster)


@pytest.mark.parametrize(
    ("scoring", "of_evaluations"), [(None, 3), (lambda round: Bounds(2 + round, 6), 4)]
)
def test_an_evaluation_has_a_threshold_of_its_own(scoring, of_evaluations) -> None:
    draw = lambda round, client: not_private(seeded(5), round, client)  # noqa: E731
    host = Masking(BOUNDS, WeightedSum(), draw, scoring=scoring)
    host.begin(2, 4, MESSAGE, 30.0)
    record = Evaluation({"personal": {"test": (0.5, 0.75)}})
    host.begin_scores(2, 4, record, {"val": 10, "test": 10})
    host.answer(OPENING, 2, 4, encode_places([Place("personal", "test", "loss")]))
    for stage, session, told in (
        ("shares", 2, 3),
        ("count_shares", of_counts(2), of_evaluations),
        ("score_shares", of_scores(2), of_evaluations),
    ):
        roster = sealed(Stage.ROSTER, session, [], 9)
        with pytest.raises(Refused, match=f"threshold of 9, and the experiment says {told}"):
            host.answer(stage, 2, 4, roster)
