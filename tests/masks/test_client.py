"""Clients that lie, repeat themselves or come late: the round ends right, or is refused."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from fedkin.core.errors import FedkinError
from fedkin.masks import keys
from fedkin.masks.client import OF_KEY, MaskingClient
from fedkin.masks.server import MaskedSum
from fedkin.masks.shares import PRIME
from fedkin.masks.terms import Terms, point_of
from fedkin.masks.wire import HEADER, HIGHEST_CLIENT, MAGIC, Refused, Stage, of_client, sealed
from tests.masks.client_examples import told_by
from tests.masks.rounds import Gone, plain_sum, play, vectors_of

CLIENTS = [2, 3, 5, 7, 11, 13, 17]
THRESHOLD = 5
ENTRY = 4 + 1 + 36  # of what is revealed: client, whose secret, share


def _falsify(found: bytearray, at: int) -> None:
    """Make the share of an entry another one: a number of the field, whatever was drawn."""
    word = slice(at + 5, at + 9)
    found[word] = ((int.from_bytes(found[word], "little") + 1) % PRIME).to_bytes(4, "little")


def _false_shares(blob: bytes) -> bytes:
    """Every share another one; the form stays."""
    found = bytearray(blob)
    for at in range(HEADER.size, len(blob), ENTRY):
        _falsify(found, at)
    return bytes(found)


def _beyond_the_field(blob: bytes) -> bytes:
    found = bytearray(blob)
    for at in range(HEADER.size, len(blob), ENTRY):
        found[at + 5 : at + 9] = b"\xff" * 4
    return bytes(found)


@pytest.mark.parametrize("change", [_false_shares, _beyond_the_field])
@pytest.mark.parametrize("liars", [[2], [17], [2, 11], [5, 7]])
@pytest.mark.parametrize("dropped", [[], [3]])
def test_false_shares_are_found_out(
    liars: list[int], dropped: list[int], change: Callable[[bytes], bytes]
) -> None:
    vectors = vectors_of(CLIENTS, 3)
    gone = Gone(masked=dropped, changed={"reveal": told_by(liars, change)})
    left = set(CLIENTS) - set(dropped)
    if len(left) - len(liars) < THRESHOLD:
        with pytest.raises(FedkinError, match=r"somebody lies|are needed"):
            play(vectors, THRESHOLD, gone)
        return
    found = play(vectors, THRESHOLD, gone)
    assert np.array_equal(found.total, plain_sum(vectors, left))
    if change is _false_shares and 2 in liars:  # who is heard first is found out
        assert set(found.liars) >= {2}
    assert set(found.liars) <= set(liars)


def _false_key_shares(blob: bytes) -> bytes:
    """The shares of seeds are right: nobody is known as a liar when keys are recovered."""
    found = bytearray(blob)
    for at in range(HEADER.size, len(blob), ENTRY):
        if found[at + 4 : at + 5] == OF_KEY:
            _falsify(found, at)
    return bytes(found)


@pytest.mark.parametrize("liar", [2, 17])
def test_a_false_share_of_a_key_alone_is_found_out(liar: int) -> None:
    vectors, left = vectors_of(CLIENTS, 3), set(CLIENTS) - {3}
    found = play(
        vectors,
        THRESHOLD,
        Gone(masked=[3], changed={"reveal": told_by([liar], _false_key_shares)}),
    )
    assert np.array_equal(found.total, plain_sum(vectors, left))
    assert set(found.liars) == ({2} if liar == 2 else set())  # 17 is heard last, if at all


def test_too_many_false_shares_are_refused_not_believed() -> None:
    vectors = vectors_of(CLIENTS, 3)
    with pytest.raises(FedkinError, match="cannot be taken off: shares of a secret contradict"):
        play(vectors, THRESHOLD, Gone(changed={"reveal": told_by([2, 5, 13], _false_shares)}))


def test_shares_that_nobody_can_read_need_enough_others() -> None:
    """One client hides junk: nobody can reveal its secrets, and the round is refused, not wrong."""
    vectors = vectors_of(CLIENTS, 3)

    def junk(blob: bytes) -> bytes:
        found = bytearray(blob)
        for at in range(HEADER.size, len(blob), 4 + 88):
            found[at + 10] ^= 1
        return bytes(found)

    with pytest.raises(FedkinError, match="masks of client 7 cannot be taken off: 1 shares"):
        play(vectors, THRESHOLD, Gone(changed={"shares": told_by([7], junk)}))

    def junk_for_two(blob: bytes) -> bytes:
        found = bytearray(blob)
        for at in range(HEADER.size, HEADER.size + 2 * 92, 92):
            found[at + 10] ^= 1
        return bytes(found)

    found = play(vectors, THRESHOLD, Gone(changed={"shares": told_by([7], junk_for_two)}))
    assert np.array_equal(found.total, plain_sum(vectors, CLIENTS))


@pytest.mark.parametrize("copies", [slice(0, 64), slice(0, 32), slice(32, 64)])
def test_another_clients_keys_are_refused(copies: slice) -> None:
    vectors = vectors_of(CLIENTS, 3)
    first: list[bytes] = []

    def copied(client: int, blob: bytes) -> bytes:
        first.append(blob[HEADER.size :])
        content = bytearray(blob[HEADER.size :])
        content[copies] = first[0][copies]
        return blob[: HEADER.size] + bytes(content) if client == 7 else blob

    found = play(vectors, THRESHOLD, Gone(changed={"advertise": copied}))
    assert found.refused == {7: "advertise: one of its keys was sent before"}
    assert np.array_equal(found.total, plain_sum(vectors, set(CLIENTS) - {7}))


@pytest.mark.parametrize("at", [HEADER.size, HEADER.size + 32])
def test_a_key_that_agrees_with_everybody_is_refused(at: int) -> None:
    vectors = vectors_of(CLIENTS, 3)

    def weak(blob: bytes) -> bytes:
        return blob[:at] + bytes(32) + blob[at + 32 :]

    found = play(vectors, THRESHOLD, Gone(changed={"advertise": told_by([7], weak)}))
    assert "no point" in found.refused[7]


def _started() -> tuple[MaskedSum, dict[int, MaskingClient]]:
    terms = Terms(7, 3, 2)
    server = MaskedSum(terms, range(4))
    clients = {one: MaskingClient(one, 7, 3) for one in range(4)}
    for one, client in clients.items():
        server.advertised(one, client.advertise())
    return server, clients


def test_who_comes_late_or_twice_or_unasked_is_refused() -> None:
    server, clients = _started()
    with pytest.raises(Refused, match="answered already"):
        server.advertised(1, MaskingClient(1, 7, 3).advertise())
    with pytest.raises(Refused, match="nobody asked"):
        server.advertised(9, MaskingClient(9, 7, 3).advertise())
    roster = server.roster()
    with pytest.raises(Refused, match="closed"):
        server.advertised(3, MaskingClient(3, 7, 3).advertise())
    for one in range(3):
        server.shared(one, clients[one].share(roster))
    deliveries = {one: server.delivery(one) for one in range(3)}
    with pytest.raises(Refused, match="closed"):
        server.shared(3, clients[3].share(roster))
    values = np.arange(2, dtype=np.uint64)
    with pytest.raises(Refused, match="nobody asked"):
        server.masked(3, clients[0].mask(deliveries[0], lambda told: values))
    server.masked(1, clients[1].mask(deliveries[1], lambda told: values))
    with pytest.raises(FedkinError, match="needs 3 of 4 clients, and 1 answered masked"):
        server.asking()


def test_nobody_answers_a_later_stage_twice_nor_for_who_is_gone() -> None:
    server, clients = _started()
    roster = server.roster()
    shares = {one: client.share(roster) for one, client in clients.items()}
    for one in range(4):
        server.shared(one, shares[one])
    with pytest.raises(Refused, match="shares: this client answered already"):
        server.shared(1, shares[1])
    values = np.arange(2, dtype=np.uint64)
    sent = [clients[one].mask(server.delivery(one), lambda told: values) for one in range(4)]
    for one in range(3):
        server.masked(one, sent[one])
    with pytest.raises(Refused, match="masked: this client answered already"):
        server.masked(1, sent[1])
    asking = server.asking()
    revealed = [clients[one].reveal(asking) for one in range(3)]
    for one in range(3):
        server.revealed(one, revealed[one])
    with pytest.raises(Refused, match="reveal: this client answered already"):
        server.revealed(1, revealed[1])
    with pytest.raises(Refused, match="reveal: nobody asked this client"):
        server.revealed(3, revealed[1])
    assert server.total().tolist() == [0, 3]


@pytest.mark.parametrize("stranger", [0, 9])
def test_shares_of_oneself_or_of_a_stranger_are_refused(stranger: int) -> None:
    server, clients = _started()
    roster = server.roster()
    for one, client in clients.items():
        server.shared(one, client.share(roster))
    body = server.delivery(0)[HEADER.size :]
    entries = [body[at : at + 92] for at in range(0, len(body), 92)]
    more = sealed(Stage.DELIVERY, 7, [*entries, of_client(stranger, bytes(88))])
    with pytest.raises(Refused, match="delivery: shares of somebody who is not on the roster"):
        clients[0].mask(more, lambda told: np.zeros(2, dtype=np.uint64))


def test_a_client_answers_each_stage_once_and_in_order() -> None:
    server, clients = _started()
    client, roster = clients[0], server.roster()
    with pytest.raises(Refused, match="comes next"):
        client.advertise()
    with pytest.raises(Refused, match="comes next"):
        client.reveal(sealed(Stage.SURVIVORS, 7, [of_client(one) for one in range(4)]))
    client.share(roster)
    with pytest.raises(Refused, match="roster was asked for, and delivery comes next"):
        client.share(roster)


def test_a_server_cannot_have_both_secrets_of_a_client() -> None:
    """A client that was asked who survived does not answer for another set of survivors."""
    server, clients = _started()
    roster = server.roster()
    for one, client in clients.items():
        server.shared(one, client.share(roster))
    values = np.zeros(2, dtype=np.uint64)
    for one in range(4):
        server.masked(one, clients[one].mask(server.delivery(one), lambda told: values))
    clients[0].reveal(server.asking())
    with pytest.raises(Refused, match="comes next"):
        clients[0].reveal(sealed(Stage.SURVIVORS, 7, [of_client(one) for one in (0, 1, 2)]))
    with pytest.raises(Refused, match="2 clients are left, and the threshold is 3"):
        clients[1].reveal(sealed(Stage.SURVIVORS, 7, [of_client(one) for one in (0, 1)]))
    with pytest.raises(Refused, match="not among those who shared"):
        clients[2].reveal(sealed(Stage.SURVIVORS, 7, [of_client(one) for one in (0, 1, 2, 8)]))
    with pytest.raises(Refused, match="not among those who shared, with this client"):
        clients[3].reveal(sealed(Stage.SURVIVORS, 7, [of_client(one) for one in (0, 1, 2)]))


def test_a_client_goes_on_with_the_threshold_of_others_only() -> None:
    """Among fewer its vector would have too few masks, whatever the server says of the others."""
    server, clients = _started()
    whole = server.roster()
    few = [whole[HEADER.size + 68 * one :][:68] for one in (0, 1)]
    with pytest.raises(Refused, match="roster: 2 clients are left, and the threshold is 3"):
        clients[1].share(sealed(Stage.ROSTER, 7, few, 3))
    for one in (0, 2, 3):
        server.shared(one, clients[one].share(whole))
    entries = server.delivery(0)[HEADER.size :]
    assert len(entries) == 2 * 92

    def never(told: int) -> NDArray[np.uint64]:
        raise AssertionError("its numbers were asked for")

    with pytest.raises(Refused, match="delivery: 2 clients are left, and the threshold is 3"):
        clients[0].mask(sealed(Stage.DELIVERY, 7, [entries[:92]]), never)


@pytest.mark.parametrize("stranger", [2**31 - 2, 2**31 - 1 + 5, 2**32 - 1])
def test_nobody_stands_where_the_secret_is_nor_at_anothers_point(stranger: int) -> None:
    """Modulo 2^31 − 1, the share at 1 + 2^31 − 2 is the secret itself, of the seed and of the key
    alike: a server that invents one client would have both.
    """
    server, clients = _started()
    made_up = keys.pair_of(bytes(range(1, 33))).public
    roster = server.roster()
    crowd = HEADER.pack(MAGIC, Stage.ROSTER, 7, 3, 5) + roster[HEADER.size :]
    crowd += of_client(stranger, made_up + made_up)
    with pytest.raises(Refused, match=rf"roster: client {stranger}, and the highest number is"):
        clients[2].share(crowd)
    assert point_of(HIGHEST_CLIENT) % PRIME == PRIME - 1


def test_a_roster_that_is_not_the_experiments_is_refused() -> None:
    server, clients = _started()
    roster = server.roster()
    fewer = HEADER.pack(MAGIC, Stage.ROSTER, 7, 2, 4) + roster[HEADER.size :]
    with pytest.raises(Refused, match="threshold of 2, and the experiment says 3"):
        clients[0].share(fewer)
    with pytest.raises(Refused, match="not those that it made"):
        clients[2].share(roster[:-100] + bytes(100 - 68) + roster[-68:])
    other = roster[: HEADER.size] + roster[HEADER.size :].replace(
        clients[1]._channel.public, bytes(range(32))
    )
    with pytest.raises(Refused, match="not those that it made"):
        clients[1].share(other)
    many = [of_client(9 + one, bytes(64)) for one in range(2)]
    crowd = HEADER.pack(MAGIC, Stage.ROSTER, 7, 3, 6) + roster[HEADER.size :] + b"".join(many)
    with pytest.raises(FedkinError, match="above half of the 6"):
        clients[3].share(crowd)
    twice = HEADER.pack(MAGIC, Stage.ROSTER, 7, 3, 5) + roster[HEADER.size :] + roster[-68:]
    _, others = _started()
    with pytest.raises(Refused, match="twice"):
        others[3].share(twice)
