"""The sum under masks is the plain sum, whoever drops out; with too few left there is none."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.masks.client import OF_KEY, OF_SEED
from fedkin.masks.server import MaskedSum
from fedkin.masks.terms import Terms, usual_threshold
from fedkin.masks.wire import CLIENT, HEADER
from tests.masks.client_examples import told_by
from tests.masks.rounds import STAGES, Gone, plain_sum, play, schedule, vectors_of

SCHEDULES = 200
MOST = 11  # clients of one


@pytest.mark.certifies("masks", "closed form")
@pytest.mark.parametrize("tens", range(SCHEDULES // 20))
def test_any_losses_up_to_n_minus_t_give_the_plain_sum(tens: int) -> None:
    for number in range(20 * tens, 20 * tens + 20):
        clients, threshold, gone = schedule(number, MOST, STAGES)
        vectors = vectors_of(clients, size=1 + number % 7, seed=number)
        found = play(vectors, threshold, gone)
        left = set(clients) - set(gone.advertise) - set(gone.shares) - set(gone.masked)
        assert found.survivors == sorted(left)
        assert np.array_equal(found.total, plain_sum(vectors, left)), (number, gone)
        assert not found.liars


@pytest.mark.parametrize("stage", STAGES)
def test_one_loss_more_is_refused(stage: str) -> None:
    clients, threshold = [3, 5, 8, 13, 21, 34, 55], 5
    vectors = vectors_of(clients, 4)
    fine = Gone(**{stage: clients[:2]})
    assert len(play(vectors, threshold, fine).survivors) >= threshold
    with pytest.raises(FedkinError, match=r"needs 5 of 7 clients, and 4 answered"):
        play(vectors, threshold, Gone(**{stage: clients[1:4]}))


def test_the_schedules_lose_somebody_at_every_stage() -> None:
    lost = dict.fromkeys(STAGES, 0)
    for number in range(SCHEDULES):
        for name in STAGES:
            lost[name] += len(getattr(schedule(number, MOST, STAGES)[2], name))
    assert min(lost.values()) > 20


def test_what_is_sent_is_not_what_is_summed() -> None:
    """A masked vector of zeros looks like any other: each bit is set about half of the time."""
    clients = [0, 1, 2, 3]
    sent: dict[int, bytes] = {}

    def look(client: int, blob: bytes) -> bytes:
        sent[client] = blob[HEADER.size :]
        return blob

    vectors = {one: np.zeros(512, dtype=np.uint64) for one in clients}
    assert not play(vectors, 3, Gone(changed={"masked": look})).total.any()
    for blob in sent.values():
        ones = np.unpackbits(np.frombuffer(blob, dtype=np.uint8)).mean()
        assert 0.48 < ones < 0.52
    words = [np.frombuffer(blob, dtype="<u8") for blob in sent.values()]
    for k in range(len(words)):  # the sum without one of them is as random: none is unmasked alone
        rest = np.sum([w for j, w in enumerate(words) if j != k], axis=0, dtype=np.uint64)
        assert np.unpackbits(rest.view(np.uint8)).mean() > 0.48


def test_the_usual_threshold_is_above_two_thirds() -> None:
    assert [usual_threshold(n) for n in (3, 4, 5, 6, 10, 40)] == [3, 3, 4, 5, 7, 27]


def test_a_server_begins_no_round_that_protects_nobody() -> None:
    with pytest.raises(FedkinError, match="3 participants"):
        MaskedSum(Terms(1, 2, 1), range(2))


def test_shares_for_somebody_who_is_not_on_the_roster_leave_their_sender_out() -> None:
    vectors = vectors_of(range(4), 3)

    def elsewhere(blob: bytes) -> bytes:
        return blob[: HEADER.size] + CLIENT.pack(99) + blob[HEADER.size + CLIENT.size :]

    found = play(vectors, 3, Gone(changed={"shares": told_by([2], elsewhere)}))
    assert found.refused == {2: "shares: they are not for everybody on the roster"}
    assert np.array_equal(found.total, plain_sum(vectors, [0, 1, 3]))


@pytest.mark.parametrize("gone", [[], [0]])
def test_a_share_of_the_secret_that_nobody_asked_for_is_refused(gone: list[int]) -> None:
    vectors = vectors_of(range(5), 3)
    left = [one for one in vectors if one not in gone]

    def another(blob: bytes) -> bytes:
        """Said to be of the other secret of client 0, who is the first in the message."""
        at = HEADER.size + CLIENT.size
        assert blob[at : at + 1] == (OF_KEY if gone else OF_SEED)
        return blob[:at] + (OF_SEED if gone else OF_KEY) + blob[at + 1 :]

    found = play(vectors, 3, Gone(masked=gone, changed={"reveal": told_by([2], another)}))
    assert found.refused == {2: "reveal: a share of a secret that nobody asked for"}
    assert np.array_equal(found.total, plain_sum(vectors, left))


def test_a_share_of_somebody_who_did_not_share_is_refused() -> None:
    vectors = vectors_of(range(5), 3)

    def stranger(blob: bytes) -> bytes:
        """Client 4 dropped out before it shared, and is the last number that anybody has."""
        at = len(blob) - CLIENT.size - 1 - 36
        return blob[:at] + CLIENT.pack(4) + OF_KEY + blob[at + CLIENT.size + 1 :]

    found = play(vectors, 3, Gone(shares=[4], changed={"reveal": told_by([2], stranger)}))
    assert found.refused == {2: "reveal: a share of a secret that nobody asked for"}
    assert np.array_equal(found.total, plain_sum(vectors, range(4)))
