"""Signed survivors: no server has the sum of fewer clients by telling each client another list."""

import copy
from collections.abc import Callable, Collection, Mapping

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.masks.agreement import SIGNED, Agreement
from fedkin.masks.client import OF_KEY, OF_SEED, REVEALED, MaskingClient
from fedkin.masks.keys import KEY, agreed
from fedkin.masks.server import MaskedSum
from fedkin.masks.shares import recover
from fedkin.masks.signatures import SIGNATURE, broadcast_digest
from fedkin.masks.terms import Terms, pairing, point_of
from fedkin.masks.vectors import Vector, add_pair, mask_of, unpacked
from fedkin.masks.wire import (
    CLIENT,
    HEADER,
    HIGHEST_CLIENT,
    MAGIC,
    Refused,
    Stage,
    by_client,
    of_client,
    opened,
    sealed,
)
from tests.masks.rounds import SIGNING, Gone, plain_sum, play, schedule, vectors_of
from tests.masks.signers import identity, signature, verifier

ROUND, SIZE = 7, 3


class Round:
    """A round until masked vectors are there, with a server that may do what it likes from then."""

    def __init__(
        self, n: int, threshold: int, signing: bool = True, run: str = "1", most: int = 10_000
    ) -> None:
        self.vectors = vectors_of(range(n), SIZE)
        terms = Terms(ROUND, threshold, SIZE)
        self.server = MaskedSum(terms, range(n), verify=verifier(run) if signing else None)
        signers = {one: identity(one, run) for one in range(n)} if signing else {}
        self.clients = {
            one: MaskingClient(one, ROUND, threshold, identity=signers.get(one), most=most)
            for one in range(n)
        }
        for one, client in self.clients.items():
            self.server.advertised(one, client.advertise())
        self.roster = self.server.roster()
        for one, client in self.clients.items():
            self.server.shared(one, client.share(self.roster))
        deliveries = {one: self.server.delivery(one) for one in self.clients}
        self.masked = {
            one: client.mask(deliveries[one], lambda told, one=one: self.vectors[one])
            for one, client in self.clients.items()
        }

    def arrive(self, clients: Collection[int]) -> bytes:
        """Their vectors are there; what an honest server says then."""
        for one in clients:
            self.server.masked(one, self.masked[one])
        return self.server.asking()

    def agreed(self, clients: Collection[int]) -> bytes:
        """An honest round until the signatures are sent."""
        asking = self.arrive(clients)
        for one in clients:
            self.server.agreed(one, self.clients[one].agree(asking))
        return self.server.signed()


def _listed(clients: Collection[int]) -> bytes:
    return sealed(Stage.SURVIVORS, ROUND, [of_client(one) for one in sorted(clients)])


def _signed(signatures: Mapping[int, bytes]) -> bytes:
    entries = [of_client(one, signatures[one]) for one in sorted(signatures)]
    return sealed(Stage.SIGNED, ROUND, entries)


FEW = (6, 4, 3)  # n clients, threshold t, and a sum of n − n(n − t)/t
TWELVE = (12, 9, 8)


def _lists(n: int, threshold: int, left: int) -> dict[int, set[int]]:
    """What each client is told, so that the secrets of all are known that leave a sum of the first
    few: each of the others is there for itself and for some of the first, and gone for t.
    """
    others = list(range(left, n))
    told = {one: {*range(left), one} for one in others}
    for one in range(left):
        told[one] = {
            *range(left),
            *(others[(one + k) % len(others)] for k in range(threshold - left)),
        }
    for one, there in told.items():
        assert one in there
        assert len(there) >= threshold
    return told


def _opened_by(revealed: Mapping[int, bytes], played: Round, left: int) -> Vector:
    """The sum of the first few clients, from what each client reveals by a list of its own."""
    server = played.server
    server._arrived = set()
    server._stage = Stage.MASKED
    for one in range(left):
        server.masked(one, played.masked[one])
    for one, blob in revealed.items():
        found = opened(Stage.REVEAL, ROUND, blob, CLIENT.size + REVEALED, len(played.clients))
        wanted = {other: OF_SEED if other < left else OF_KEY for other in played.clients}
        server._revealed[one] = {
            other: content[1:]
            for other, content in by_client(found.entries, "reveal").items()
            if content[:1] == wanted[other]
        }
    server._stage = Stage.REVEAL
    return server.total()


def _revealed(played: Round, told: Mapping[int, set[int]]) -> tuple[dict[int, bytes], list[str]]:
    """What clients reveal for lists of their own where nobody asks what they were told."""
    revealed, why = {}, []
    for one, client in played.clients.items():
        try:
            revealed[one] = client.reveal(_listed(told[one]))
        except Refused as error:
            why.append(str(error))
    return revealed, why


@pytest.mark.parametrize(("n", "threshold", "left"), [FEW, TWELVE])
def test_a_server_that_tells_each_client_another_list_has_no_sum_of_fewer(
    n: int, threshold: int, left: int
) -> None:
    """Of six clients with a threshold of four it had the sum of three, and of twelve that of eight
    with a threshold of nine.
    """
    told = _lists(n, threshold, left)
    played = Round(n, threshold)
    revealed, why = _revealed(played, told)
    if not why:
        total = _opened_by(revealed, played, left)
        expected = plain_sum(played.vectors, range(left))
        assert not np.array_equal(total, expected), f"the sum of {left} clients is open"
    assert why == [f"signed was asked for, and survivors comes next in round {ROUND}"] * n
    signatures = {
        one: client.agree(_listed(told[one]))[HEADER.size :]
        for one, client in played.clients.items()
    }
    for one, client in played.clients.items():
        same = {other: text for other, text in signatures.items() if told[other] == told[one]}
        among = {other: text for other, text in signatures.items() if other in told[one]}
        sent = same if one % 2 else among
        assert len(same) < threshold <= len(among)
        with pytest.raises(Refused, match=r"and the threshold is|did not sign the survivors that"):
            client.reveal(_signed(sent))
        with pytest.raises(Refused, match="comes next"):
            client.reveal(_signed(among))


@pytest.mark.parametrize(("n", "threshold", "left"), [FEW, TWELVE])
def test_without_identities_such_a_sum_is_open(n: int, threshold: int, left: int) -> None:
    """So it is said in docs/privacy.md: where nobody signs, masks trust the server in this."""
    played = Round(n, threshold, signing=False)
    revealed, why = _revealed(played, _lists(n, threshold, left))
    assert not why
    total = _opened_by(revealed, played, left)
    assert np.array_equal(total, plain_sum(played.vectors, range(left)))
    with pytest.raises(Refused, match="agree: nobody signs in this round, since clients have no"):
        Round(n, threshold, signing=False).clients[0].agree(_listed(range(n)))


HELPER = 0  # signs two lists, and reveals for both


def _opened_for(played: Round, victim: int, told: list[set[int]]) -> Vector:
    """One client's vector, where its server told two lists that have the helper alone in common:
    of one it takes the shares of the seed, of the other those of the key.
    """
    parts: dict[bytes, dict[int, bytes]] = {OF_SEED: {}, OF_KEY: {}}
    helpers = {
        which: copy.deepcopy(played.clients[HELPER]) for which, there in enumerate(told) if there
    }
    for which, there in enumerate(told):
        clients = {**played.clients, HELPER: helpers[which]}
        sent = {one: clients[one].agree(_listed(there))[HEADER.size :] for one in there}
        for one in there:
            blob = clients[one].reveal(_signed(sent))
            found = opened(Stage.REVEAL, ROUND, blob, CLIENT.size + REVEALED, 13)
            content = by_client(found.entries, "reveal")[victim]
            parts[content[:1]][point_of(one)] = content[1:]
    seed, key = (recover(shares, 7, lambda _: True).secret for shares in parts.values())
    total = unpacked(ROUND, played.masked[victim], SIZE) - mask_of(seed, SIZE)
    entries = opened(Stage.ROSTER, ROUND, played.roster, CLIENT.size + 2 * KEY + SIGNATURE, 13)
    for other, public in by_client(entries.entries, "roster").items():
        if other != victim:
            masking = public[KEY : 2 * KEY]
            pair = agreed(key, masking, pairing(ROUND, victim, other))
            add_pair(total, pair, other, victim)
    return total


def test_one_helper_opens_an_update_of_a_round_with_too_many_clients_and_nodes_refuse_it() -> None:
    """Ten clients have a threshold of seven. Of thirteen two lists of seven have one in common."""
    told = [{HELPER, *range(1, 7)}, {HELPER, *range(7, 13)}]
    played = Round(13, 7)
    assert np.array_equal(_opened_for(played, 1, told), played.vectors[1])
    why = r"roster: 13 clients, and by the experiment at most 10 take part"
    with pytest.raises(Refused, match=why):
        Round(13, 7, most=10)
    assert Round(10, 7, most=10).roster


@pytest.mark.parametrize("tens", range(5))
def test_any_losses_up_to_n_minus_t_give_the_plain_sum(tens: int) -> None:
    for number in range(10 * tens, 10 * tens + 10):
        clients, threshold, gone = schedule(number, 9, SIGNING)
        vectors = vectors_of(clients, size=1 + number % 7, seed=number)
        found = play(vectors, threshold, gone, signing=True)
        left = set(clients) - set(gone.advertise) - set(gone.shares) - set(gone.masked)
        assert found.survivors == sorted(left)
        assert np.array_equal(found.total, plain_sum(vectors, left)), (number, gone)
        unsigned = play(vectors, threshold, gone._replace(agree=()))
        assert np.array_equal(found.total, unsigned.total)
        assert not found.refused


@pytest.mark.parametrize("stage", SIGNING)
def test_one_loss_more_is_refused(stage: str) -> None:
    clients = [3, 5, 8, 13, 21, 34, 55]
    vectors = vectors_of(clients, 4)
    assert play(vectors, 5, Gone(**{stage: clients[:2]}), signing=True).survivors
    with pytest.raises(FedkinError, match=rf"needs 5 of 7 clients, and 4 answered {stage} "):
        play(vectors, 5, Gone(**{stage: clients[1:4]}), signing=True)


def test_who_signs_something_else_is_left_out_and_its_vector_counts() -> None:
    vectors = vectors_of(range(5), 3)

    def another(client: int, blob: bytes) -> bytes:
        return blob[: HEADER.size] + signature(client, b"else") if client == 2 else blob

    found = play(vectors, 3, Gone(changed={"agree": another}), signing=True)
    assert found.refused == {2: "agree: its node did not sign the survivors that it was told"}
    assert np.array_equal(found.total, plain_sum(vectors, range(5)))


def test_a_server_takes_signatures_of_survivors_alone_once_and_in_time() -> None:
    played = Round(5, 3)
    server, clients = played.server, played.clients
    with pytest.raises(Refused, match="agree: it came when that stage was closed"):
        server.agreed(0, b"")
    asking = played.arrive(range(4))
    with pytest.raises(Refused, match="agree: nobody asked this client"):
        server.agreed(4, b"")
    with pytest.raises(Refused, match="reveal: it came when that stage was closed"):
        server.revealed(0, b"")
    sent = {one: clients[one].agree(asking) for one in range(4)}
    empty = HEADER.pack(MAGIC, Stage.AGREE, ROUND, 0, 0)
    for blob, why in (
        (sent[1], "agree: its node did not sign the survivors that it was told"),
        (sent[0][:-1], f"agree: {HEADER.size + SIGNATURE - 1} bytes with 1 entries"),
        (empty, "agree: 0 entries, not 1"),
    ):
        with pytest.raises(Refused, match=why):
            server.agreed(0, blob)
    for one in range(3):
        server.agreed(one, sent[one])
    with pytest.raises(Refused, match="agree: this client answered already"):
        server.agreed(0, sent[0])
    assert server.revealing == [0, 1, 2]
    signed = server.signed()
    with pytest.raises(Refused, match="agree: it came when that stage was closed"):
        server.agreed(3, sent[3])
    with pytest.raises(Refused, match="reveal: nobody asked this client"):
        server.revealed(3, clients[3].reveal(signed))
    for one in range(3):
        server.revealed(one, clients[one].reveal(signed))
    assert np.array_equal(server.total(), plain_sum(played.vectors, range(4)))


def test_a_server_asks_for_no_signatures_where_nobody_signs() -> None:
    played = Round(4, 3, signing=False)
    played.arrive(range(4))
    with pytest.raises(Refused, match="agree: it came when that stage was closed"):
        played.server.agreed(0, b"")
    assert played.server.revealing == [0, 1, 2, 3]


def _taken(sent: dict[int, bytes]) -> dict[int, bytes]:
    return {one: sent[one] for one in (0, 1)}


def _other_survivors(sent: dict[int, bytes]) -> dict[int, bytes]:
    """Client 2 has signed that client 4 is there too."""
    told = Agreement(ROUND, 3, b"", frozenset(range(5)))
    return {**sent, 2: signature(2, told.said_by(2))}


def _stranger(sent: dict[int, bytes]) -> dict[int, bytes]:
    return {**{one: sent[one] for one in (0, 1, 2)}, 9: sent[3]}


def _lent(sent: dict[int, bytes]) -> dict[int, bytes]:
    return {**sent, 3: sent[2]}


def _no_signature(sent: dict[int, bytes]) -> dict[int, bytes]:
    return {**sent, 3: bytes(SIGNATURE)}


WRONG: list[tuple[Callable[[dict[int, bytes]], dict[int, bytes]], str]] = [
    (lambda sent: {}, "signed: 0 clients signed who survived, and the threshold is 3"),
    (_taken, "signed: 2 clients signed who survived, and the threshold is 3"),
    (_other_survivors, "signed: client 2 did not sign the survivors that this client was told in"),
    (_stranger, "signed: client 9 is not among the survivors"),
    (_lent, "signed: client 3 did not sign the survivors that this client was told in this round"),
    (_no_signature, "signed: client 3 did not sign"),
    (lambda sent: {**sent, HIGHEST_CLIENT + 1: sent[0]}, "signed: client 2147483646, and the hi"),
]


def _among_four(change: Callable[[dict[int, bytes]], bytes], run: str = "1") -> None:
    """Client 0 is sent something else in the place of what four of five have signed."""
    played = Round(5, 3, run=run)
    asking = played.arrive(range(4))
    sent = {one: played.clients[one].agree(asking)[HEADER.size :] for one in range(4)}
    played.clients[0].reveal(change(sent))


@pytest.mark.parametrize(("change", "why"), WRONG)
def test_signatures_that_are_not_of_what_it_was_told_reveal_nothing(
    change: Callable[[dict[int, bytes]], dict[int, bytes]], why: str
) -> None:
    def changed(sent: dict[int, bytes]) -> bytes:
        found = change(sent)
        if len(found) > 4:
            found.pop(1)
        return _signed(found)

    with pytest.raises(Refused, match=f"^{why}") as ended:
        _among_four(changed)
    assert "\n" not in str(ended.value)
    assert ". " not in str(ended.value)


def test_who_is_gone_makes_no_number_full_though_it_signed_the_same() -> None:
    """A client that helps its server, and whose vector is not in the sum."""
    played = Round(5, 3)
    asking = played.arrive(range(4))
    sent = {one: played.clients[one].agree(asking)[HEADER.size :] for one in range(2)}
    told = Agreement(ROUND, 3, broadcast_digest(played.roster), frozenset(range(4)))
    assert sent[1] == signature(1, told.said_by(1))
    with pytest.raises(Refused, match="signed: client 4 is not among the survivors"):
        played.clients[0].reveal(_signed({**sent, 4: signature(4, told.said_by(4))}))


def test_a_message_of_another_form_round_or_stage_reveals_nothing() -> None:
    def message(sent: dict[int, bytes], **header: int) -> bytes:
        fields = {"stage": Stage.SIGNED, "round": ROUND, "number": 0, "entries": 4, **header}
        return HEADER.pack(MAGIC, *fields.values()) + _signed(sent)[HEADER.size :]

    twice = lambda sent: of_client(0, sent[0]) + of_client(0, sent[0])  # noqa: E731
    for change, why in (
        (lambda sent: b"", "signed: no message of secure aggregation"),
        (lambda sent: message(sent, round=8), "signed: a message of round 8 arrived in round 7"),
        (lambda sent: message(sent, stage=6), r"signed: a message of another stage arrived \(6, "),
        (lambda sent: message(sent)[:-1], f"signed: {HEADER.size + 4 * SIGNED - 1} bytes with 4 e"),
        (lambda sent: message(sent) + b"x", f"signed: {HEADER.size + 4 * SIGNED + 1} bytes with 4"),
        (
            lambda sent: _signed({**sent, 4: sent[0]}),  # more than the survivors
            f"signed: {HEADER.size + 5 * SIGNED} bytes with 5 entries, at most 4 of {SIGNED}",
        ),
        (
            lambda sent: sealed(Stage.SIGNED, ROUND, [twice(sent), of_client(1, sent[1])]),
            "signed: .* bytes with 2 entries",
        ),
        (
            lambda sent: sealed(Stage.SIGNED, ROUND, [of_client(0, sent[0])] * 3),
            "signed: a client stands there twice",
        ),
    ):
        with pytest.raises(Refused, match=f"^{why}"):
            _among_four(change)  # type: ignore[arg-type]


def test_the_threshold_of_signatures_is_enough_and_one_more_too() -> None:
    for many in (3, 4):
        _among_four(lambda sent, many=many: _signed({one: sent[one] for one in range(many)}))  # type: ignore[misc]


def test_signatures_of_another_run_or_of_other_keys_of_a_round_reveal_nothing() -> None:
    """A round that is done again has other keys. So a client that signs again, because its server
    was cut off, has not signed two lists of one round.
    """
    earlier = Round(5, 3)
    asking = earlier.arrive(range(4))
    before = {one: earlier.clients[one].agree(asking)[HEADER.size :] for one in range(4)}
    for run in ("1", "2"):
        with pytest.raises(Refused, match=r"^signed: client 1 did not sign the survivors that th"):
            _among_four(lambda sent: _signed({**sent, 1: before[1]}), run)


def test_a_client_signs_one_list_a_round() -> None:
    played = Round(5, 3)
    client = played.clients[0]
    client.agree(_listed(range(4)))
    with pytest.raises(Refused, match="survivors was asked for, and signed comes next in round 7"):
        client.agree(_listed(range(5)))
    for told, why in (
        ((0, 1), "survivors: 2 clients are left, and the threshold is 3"),
        ((0, 2, 3), "survivors: they are not among those who shared, with this client"),
        ((0, 1, 2, 9), "survivors: they are not among those who shared, with this client"),
    ):
        other = Round(5, 3).clients[1]
        with pytest.raises(Refused, match=why):
            other.agree(_listed(told))
        with pytest.raises(Refused, match="signed: 0 clients signed who survived"):
            other.reveal(_signed({}))  # what it refused is no list


def test_what_is_signed_is_another_text_for_each_round_signer_list_and_roster() -> None:
    one, other = broadcast_digest(b"roster"), broadcast_digest(b"another")
    texts = [
        Agreement(7, 3, one, frozenset({1, 2, 3})).said_by(1),
        Agreement(8, 3, one, frozenset({1, 2, 3})).said_by(1),
        Agreement(7, 3, one, frozenset({1, 2, 3})).said_by(2),
        Agreement(7, 3, other, frozenset({1, 2, 3})).said_by(1),
        Agreement(7, 3, one, frozenset({1, 2})).said_by(1),
        Agreement(7, 3, one, frozenset({1, 2, 4})).said_by(1),
    ]
    assert len(set(texts)) == len(texts)
    again = Agreement(7, 3, one, frozenset([3, 2, 1]))
    assert again.said_by(1) == texts[0]
