"""What a client, and what the server of secure aggregation might be sent by the other side.

A round of five honest clients, which sign or do not, is played up to a stage. There somebody sends
another message: the stage's own with entries added, gone, twice or of others, with another header,
or with bytes broken.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from fedkin.core.rng import Secret
from fedkin.masks.client import OF_KEY, OF_SEED, REVEALED, SECRET, MaskingClient
from fedkin.masks.keys import KEY
from fedkin.masks.randomness import not_private
from fedkin.masks.server import MaskedSum
from fedkin.masks.shares import PRIME
from fedkin.masks.signatures import SIGNATURE
from fedkin.masks.terms import Terms, point_of
from fedkin.masks.wire import CLIENT, HEADER, MOST_CLIENTS, Refused, Stage
from tests.fuzz.boundary import Boundary
from tests.masks.rounds import plain_sum, vectors_of
from tests.masks.signers import identity, verifier

CLIENTS = (1, 2, 5, 8, 9)
HOSTILE, ROUND, THRESHOLD, SIZE = 5, 7, 3, 4
VECTORS = vectors_of(CLIENTS, SIZE)
# Bytes of one entry of each stage's message
ENTRY = {
    Stage.ADVERTISE: 3 * KEY,
    Stage.ROSTER: CLIENT.size + 2 * KEY,
    Stage.SHARES: CLIENT.size + SECRET,
    Stage.DELIVERY: CLIENT.size + SECRET,
    Stage.MASKED: 8 * SIZE,
    Stage.SURVIVORS: CLIENT.size,
    Stage.AGREE: SIGNATURE,
    Stage.SIGNED: CLIENT.size + SIGNATURE,
    Stage.REVEAL: CLIENT.size + REVEALED,
}
LONGER = (Stage.ADVERTISE, Stage.ROSTER)  # where clients sign
ODD_CLIENTS = [*CLIENTS, 0, 3, 2**31 - 2, 2**31 - 1, 2**32 - 1, 2**31 + 4, 10**6]
GONE, TWICE = -1, -2
WORDS = [0, 1, 2, ROUND, THRESHOLD, 255, 10_001, 2**31, 2**32 - 1]


class Change(NamedTuple):
    """What a stranger does with an honest message.

    header: (which of stage, round, number and entries, its value). entries: (which, what becomes of
    it: GONE, TWICE, or the client that it says). broken: (where, which byte). cut: bytes off the
    end. claims: whether the header says how many entries there are in truth.
    """

    header: tuple[tuple[int, int], ...]
    entries: tuple[tuple[int, int], ...]
    broken: tuple[tuple[int, int], ...]
    cut: int
    claims: bool

    def applied(self, blob: bytes, size: int) -> bytes:
        """The message that is sent in the honest one's place."""
        fields = list(HEADER.unpack_from(blob))
        body = blob[HEADER.size :]
        found = [body[at : at + size] for at in range(0, len(body), size)]
        for which, what in self.entries:
            if not found:
                break
            entry = found.pop(which % len(found))
            if what >= 0:
                found.append(CLIENT.pack(what) + entry[CLIENT.size :])
            elif what == TWICE:
                found += [entry, entry]
        body, fields[4] = b"".join(found), len(found)
        for which, value in self.header:
            fields[which] = value % 256 if which == 1 else value
        if not self.claims:
            fields[4] = 1
        changed = bytearray(HEADER.pack(*fields) + body)
        for at, value in self.broken:
            changed[at % len(changed)] = value
        return bytes(changed[: len(changed) - self.cut])


CHANGES = st.builds(
    Change,
    header=st.lists(st.tuples(st.integers(1, 4), st.sampled_from(WORDS)), max_size=1).map(tuple),
    entries=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from([GONE, TWICE, *ODD_CLIENTS])), max_size=2
    ).map(tuple),
    broken=st.sampled_from([(), (), ()])
    | st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=2).map(tuple),
    cut=st.sampled_from([0, 0, 0, 0, 1, 9]),
    claims=st.sampled_from([True, True, True, False]),
)


class Round:
    """An honest round, one stage after another, with somebody between it and its messages.

    signing: whether clients have identities. up: what becomes of a client's message. down: of what
    a client is sent.
    """

    def __init__(
        self,
        signing: bool,
        up: Callable[[Stage, int, bytes], bytes] = lambda stage, client, blob: blob,
        down: Callable[[Stage, int, bytes], bytes] = lambda stage, client, blob: blob,
    ) -> None:
        self._up, self._down, self._signing = up, down, signing
        verify = verifier() if signing else None
        self.server = MaskedSum(Terms(ROUND, THRESHOLD, SIZE), CLIENTS, verify=verify)
        secret = Secret(b"fuzz" * 8, seeded=True)
        draws = {client: not_private(secret, ROUND, client) for client in CLIENTS}
        self.clients = {
            client: MaskingClient(
                client, ROUND, THRESHOLD, draws[client], identity(client) if signing else None
            )
            for client in CLIENTS
        }
        self.refused: list[str] = []

    def _stage(
        self,
        stage: Stage,
        who: list[int],
        answer: Callable[[int], bytes],
        take: Callable[[int, bytes], None],
    ) -> None:
        for client in who:
            try:
                take(client, self._up(stage, client, answer(client)))
            except Refused as error:
                if client != HOSTILE:
                    raise AssertionError(f"an honest client was refused: {error}") from None
                self.refused.append(str(error))

    def _sent(self, stage: Stage, client: int, blob: bytes) -> bytes:
        return self._down(stage, client, blob) if client == HOSTILE else blob

    def play(self) -> None:
        """All of it; raises FedkinError where the round cannot be summed up."""
        server, clients = self.server, self.clients
        self._stage(
            Stage.ADVERTISE, list(CLIENTS), lambda one: clients[one].advertise(), server.advertised
        )
        roster = server.roster()
        self._stage(
            Stage.SHARES,
            server.advertising,
            lambda one: clients[one].share(self._sent(Stage.ROSTER, one, roster)),
            server.shared,
        )
        deliveries = {one: server.delivery(one) for one in server.sharing}
        self._stage(
            Stage.MASKED,
            server.sharing,
            lambda one: clients[one].mask(
                self._sent(Stage.DELIVERY, one, deliveries[one]), lambda told: VECTORS[one]
            ),
            server.masked,
        )
        asking, last = server.asking(), Stage.SURVIVORS
        if self._signing:
            told = asking
            self._stage(
                Stage.AGREE,
                server.survivors,
                lambda one: clients[one].agree(self._sent(Stage.SURVIVORS, one, told)),
                server.agreed,
            )
            asking, last = server.signed(), Stage.SIGNED
        self._stage(
            Stage.REVEAL,
            server.revealing,
            lambda one: clients[one].reveal(self._sent(last, one, asking)),
            server.revealed,
        )


def _size(stage: Stage, signing: bool) -> int:
    return ENTRY[stage] + (SIGNATURE if signing and stage in LONGER else 0)


def _up(case: tuple[bool, Stage, Change]) -> None:
    """One client of five lies: no honest one is refused, and the sum is that of the survivors."""
    signing, stage, change = case

    def lie(at: Stage, client: int, blob: bytes) -> bytes:
        size = _size(at, signing)
        return change.applied(blob, size) if (at, client) == (stage, HOSTILE) else blob

    played = Round(signing, up=lie)
    played.play()
    total = played.server.total()
    assert set(CLIENTS) - set(played.server.survivors) <= {HOSTILE}
    if stage is Stage.MASKED or stage is Stage.ADVERTISE:
        return  # numbers, or keys, of its own choice: the sum is another one, and that is its say
    assert np.array_equal(total, plain_sum(VECTORS, played.server.survivors))
    if played.refused:
        raise Refused(played.refused[0])


def _down(case: tuple[bool, Stage, Change]) -> None:
    """A server lies to one client: it refuses, or answers, and gives no two secrets of one client
    and no share that is the secret itself. One that signs reveals for the others' survivors alone.
    """
    signing, stage, change = case
    answers: dict[Stage, bytes] = {}

    def lie(at: Stage, client: int, blob: bytes) -> bytes:
        return change.applied(blob, _size(at, signing)) if at is stage else blob

    def hear(at: Stage, client: int, blob: bytes) -> bytes:
        if client == HOSTILE:
            answers[at] = blob
        return blob

    played = Round(signing, up=hear, down=lie)
    client = played.clients[HOSTILE]
    refusal = _played(played)
    points = [point_of(one) % PRIME for one in client._roster]
    if Stage.SHARES in answers:
        assert all(points)
        assert len(set(points)) == len(points) <= MOST_CLIENTS
        assert (len(answers[Stage.SHARES]) - HEADER.size) % ENTRY[Stage.SHARES] == 0
    if Stage.REVEAL in answers:
        kinds = _one_secret_each(answers[Stage.REVEAL][HEADER.size :])
        if signing:
            there = played.server.survivors
            assert all((kind == OF_SEED) == (one in there) for one, kind in kinds.items())
        for again in (client.reveal, client.share, partial(client.mask, values_of=_none)):
            _refuses(again)
        _refuses(client.agree)
    if refusal or played.refused:
        raise Refused(refusal or played.refused[0])


def _played(played: Round) -> str:
    """What the round ended with where it could not go on."""
    from fedkin.core.errors import FedkinError

    try:
        played.play()
    except FedkinError as error:
        return str(error)
    return ""


def _one_secret_each(body: bytes) -> dict[int, bytes]:
    """Of each client, which of its two secrets a share was revealed of."""
    size = ENTRY[Stage.REVEAL]
    entries = [body[at : at + size] for at in range(0, len(body), size)]
    about = [CLIENT.unpack_from(entry)[0] for entry in entries]
    assert len(set(about)) == len(about)
    kinds = [entry[CLIENT.size : CLIENT.size + 1] for entry in entries]
    assert all(kind in (OF_SEED, OF_KEY) for kind in kinds)
    return dict(zip(about, kinds, strict=True))


def _refuses(answer: Callable[[bytes], bytes]) -> None:
    try:
        answer(b"")
    except Refused:
        return
    raise AssertionError("a stage was answered twice")


def _none(told: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    raise AssertionError("a vector was made twice")


UP = [Stage.ADVERTISE, Stage.SHARES, Stage.MASKED, Stage.REVEAL]
DOWN = [Stage.ROSTER, Stage.DELIVERY, Stage.SURVIVORS]
# (whether clients sign, the stage): two stages are of clients that sign alone
UPS = [*((signing, stage) for signing in (False, True) for stage in UP), (True, Stage.AGREE)]
DOWNS = [*((signing, stage) for signing in (False, True) for stage in DOWN), (True, Stage.SIGNED)]


def _cases(among: list[tuple[bool, Stage]]) -> st.SearchStrategy[tuple[bool, Stage, Change]]:
    return st.builds(lambda one, change: (*one, change), st.sampled_from(among), CHANGES)


MASKED = {
    "up: secure aggregation": Boundary(_cases(UPS), _up),
    "down: secure aggregation": Boundary(_cases(DOWNS), _down),
}
