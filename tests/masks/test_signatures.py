"""Signed keys: nobody's keys can be put in the place of a client's."""

from collections.abc import Sequence

import numpy as np
import pytest

from fedkin.masks.client import MaskingClient
from fedkin.masks.keys import KEY, pair_of
from fedkin.masks.server import MaskedSum
from fedkin.masks.signatures import SIGNATURE, broadcast_digest, signed_statement
from fedkin.masks.terms import Terms
from fedkin.masks.wire import CLIENT, HEADER, MOST_CLIENTS, Refused, Stage, opened, sealed
from tests.masks.signers import identity, verifier

MODEL, OTHER = broadcast_digest(b"the model"), broadcast_digest(b"another")


def _round(
    signing: int = 4, heard: Sequence[bytes] = (MODEL,) * 4
) -> tuple[MaskedSum, dict[int, MaskingClient]]:
    server = MaskedSum(Terms(7, 3, 2), range(4), 0, verifier(), MODEL)
    signers = {client: identity(client) for client in range(signing)}
    clients = {
        one: MaskingClient(one, 7, 3, identity=signers.get(one), heard=heard[one])
        for one in range(4)
    }
    return server, clients


def test_signed_rounds_give_the_sum() -> None:
    server, clients = _round()
    for one, client in clients.items():
        blob = client.advertise()
        assert len(blob) == HEADER.size + 3 * KEY + SIGNATURE
        server.advertised(one, blob)
    roster = server.roster()
    for one, client in clients.items():
        server.shared(one, client.share(roster))
    deliveries = {one: server.delivery(one) for one in clients}
    for one, client in clients.items():
        values = np.array([one, 2**64 - 1 - one], np.uint64)
        server.masked(one, client.mask(deliveries[one], lambda told, v=values: v))
    asking = server.asking()
    for one, client in clients.items():
        blob = client.agree(asking)
        assert len(blob) == HEADER.size + SIGNATURE
        server.agreed(one, blob)
    signed = server.signed()
    for one, client in clients.items():
        server.revealed(one, client.reveal(signed))
    assert server.total().tolist() == [6, 2**64 - 10]


def test_keys_of_somebody_else_are_refused_by_everybody() -> None:
    server, clients = _round()
    for one, client in clients.items():
        server.advertised(one, client.advertise())
    size = CLIENT.size + 2 * KEY + SIGNATURE
    entries = opened(Stage.ROSTER, 7, server.roster(), size, MOST_CLIENTS).entries
    mine = pair_of(bytes(range(KEY))).public
    entries[2] = CLIENT.pack(2) + mine + entries[2][CLIENT.size + KEY :]
    roster = sealed(Stage.ROSTER, 7, entries, 3)
    with pytest.raises(Refused, match="the keys of client 2 are not signed by its node"):
        clients[1].share(roster)
    with pytest.raises(Refused, match="roster was asked for, and delivery comes next"):
        clients[1].share(roster)  # it does not come back


def test_a_signature_is_of_one_round_client_and_pair_of_keys() -> None:
    server, clients = _round()
    blob = clients[0].advertise()
    with pytest.raises(Refused, match="advertise: its keys are not signed"):
        server.advertised(1, blob)
    other = MaskedSum(Terms(8, 3, 2), range(4), 0, verifier(), MODEL)
    again = blob[: HEADER.size].replace(b"\x07", b"\x08", 1) + blob[HEADER.size :]
    with pytest.raises(Refused, match="advertise: its keys are not signed"):
        other.advertised(0, again)
    changed = blob[: HEADER.size] + pair_of(b"\x05" * KEY).public + blob[HEADER.size + KEY :]
    with pytest.raises(Refused, match="advertise: its keys are not signed"):
        server.advertised(0, changed)
    server.advertised(0, blob)


def test_who_does_not_sign_is_refused_where_others_do() -> None:
    server, clients = _round(signing=3)
    with pytest.raises(Refused, match="bytes with 1 entries"):
        server.advertised(3, clients[3].advertise())


def test_who_was_sent_something_else_is_in_no_sum_with_the_others() -> None:
    """By its own check, whatever the server's is: of the others' sum, which began from a model that
    tells it, one update would be left.
    """
    server, clients = _round(heard=(MODEL, OTHER, OTHER, OTHER))
    server.advertised(0, clients[0].advertise())
    with pytest.raises(Refused, match="advertise: its keys are not signed by its node"):
        server.advertised(1, clients[1].advertise())
    server, clients = _round(heard=(MODEL, OTHER, OTHER, OTHER))
    server._verify = lambda *_: True
    for one, client in clients.items():
        server.advertised(one, client.advertise())
    roster = server.roster()
    for client in clients.values():
        with pytest.raises(Refused, match="or the server sent it something else than this client"):
            client.share(roster)
    assert broadcast_digest(None) == broadcast_digest(b"") != MODEL


def test_what_is_signed_is_another_text_for_each_round_client_key_and_message() -> None:
    one, other = bytes(KEY), b"\x01" * KEY
    texts = [
        signed_statement(7, 1, one + one, MODEL),
        signed_statement(8, 1, one + one, MODEL),
        signed_statement(7, 2, one + one, MODEL),
        signed_statement(7, 1, other + one, MODEL),
        signed_statement(7, 1, one + other, MODEL),
        signed_statement(7, 1, one + one, OTHER),
    ]
    assert len(set(texts)) == len(texts)
