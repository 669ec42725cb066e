"""One client in one round: four answers, and one more where clients have identities, each once.

A client that is asked for anything out of order, of another round, or twice, refuses. It reveals of
every other client one of two secrets, never both. Where clients have identities, it reveals nothing
before it knows that enough others were told the same survivors.
"""

from collections.abc import Callable

from fedkin.masks import keys, vectors
from fedkin.masks.agreement import Agreement
from fedkin.masks.randomness import Randomness, of_the_system
from fedkin.masks.shares import SHARE, randomness, split
from fedkin.masks.signatures import SIGNATURE, Identity, broadcast_digest, signed_statement
from fedkin.masks.terms import check_majority, direction, pairing, point_of
from fedkin.masks.wire import (
    CLIENT,
    MOST_CLIENTS,
    Refused,
    Stage,
    by_client,
    of_client,
    opened,
    sealed,
)

SECRET = 2 * SHARE + keys.TAG  # bytes of a pair of shares that is hidden
OF_SEED, OF_KEY = b"\x00", b"\x01"  # whose share is revealed
REVEALED = 1 + SHARE


class MaskingClient:
    """The client's side of one round.

    Args:
        client: Its number.
        round: Counts from 1.
        threshold: t, as the client's own experiment says: the server's word counts for nothing.
        draw: Where its secrets come from.
        identity: Signs its keys and who survived, and knows the others' signatures; None where
            nobody signs.
        heard: Stands for what it was sent (``broadcast_digest``): the others must have been sent
            the same.
        most: Clients that the client's own experiment lets a round have. Of more, fewer helpers
            would open a sum: two lists of t clients would have fewer in common.
    """

    def __init__(
        self,
        client: int,
        round: int,
        threshold: int,
        draw: Randomness = of_the_system,
        identity: Identity | None = None,
        heard: bytes = b"",
        most: int = MOST_CLIENTS,
    ) -> None:
        self.client, self.round, self.threshold, self._draw = client, round, threshold, draw
        self._identity, self._heard, self._most = identity, heard, most
        self._next = Stage.ADVERTISE
        self._channel = keys.pair_of(draw("channel key", keys.KEY))
        self._masking = keys.pair_of(draw("masking key", keys.KEY))
        self._seed = draw("seed", keys.KEY)
        self._roster: dict[int, bytes] = {}
        self._keys = b""  # stands for the roster
        self._sharing: list[int] = []
        self._there: frozenset[int] = frozenset()
        self._given: dict[int, bytes] = {}  # the pair of shares that each client gave this one

    def advertise(self) -> bytes:
        """Its public keys, a commitment to its seed, and its signature of the keys."""
        self._step(Stage.ADVERTISE, Stage.ROSTER)
        public = self._channel.public + self._masking.public
        content = public + keys.commitment(self._seed)
        if self._identity is not None:
            content += self._identity.sign(self._said(self.client, public))
        return sealed(Stage.ADVERTISE, self.round, [content])

    def share(self, roster: bytes) -> bytes:
        """Shares of its seed and of its masking key, one hidden pair for each other client.

        Args:
            roster: Whose public keys are there.

        Raises:
            Refused: This client is not among them as it is, or they are too few or too many, or
                keys are not signed by whose they are said to be.
        """
        self._step(Stage.ROSTER, Stage.DELIVERY)
        size = CLIENT.size + 2 * keys.KEY + (0 if self._identity is None else SIGNATURE)
        found = opened(Stage.ROSTER, self.round, roster, size, MOST_CLIENTS)
        listed = by_client(found.entries, "roster")
        if len(listed) > self._most:
            raise Refused(
                f"roster: {len(listed):,} clients, and by the experiment at most {self._most:,} "
                "take part"
            )
        self._roster = self._verified(listed)
        if found.number != self.threshold:
            raise Refused(
                f"roster: a threshold of {found.number}, and the experiment says {self.threshold}"
            )
        if self._roster.get(self.client) != self._channel.public + self._masking.public:
            raise Refused("roster: the keys of this client are not those that it made")
        self._enough(len(self._roster), "roster")
        check_majority(self.threshold, len(self._roster))
        self._keys = broadcast_digest(roster)
        return sealed(Stage.SHARES, self.round, self._hidden_pairs())

    def _verified(self, roster: dict[int, bytes]) -> dict[int, bytes]:
        """The keys of each client, once their signatures are known to be its own."""
        if self._identity is None:
            return roster
        found = {}
        for client, entry in roster.items():
            public, signature = entry[: 2 * keys.KEY], entry[2 * keys.KEY :]
            if not self._identity.verify(client, self._said(client, public), signature):
                raise Refused(
                    f"roster: the keys of client {client} are not signed by its node, or the "
                    "server sent it something else than this client"
                )
            found[client] = public
        return found

    def _said(self, client: int, public: bytes) -> bytes:
        """What a client of this round signs, where it was sent the same as this one."""
        return signed_statement(self.round, client, public, self._heard)

    def _hidden_pairs(self) -> list[bytes]:
        threshold, points = self.threshold, [point_of(one) for one in self._roster]
        both = [
            split(secret, threshold, points, self._draw(what, randomness(threshold)))
            for what, secret in (("seed's", self._seed), ("key's", self._masking.private))
        ]
        entries = []
        for other, of_seed, of_key in zip(self._roster, *both, strict=True):
            if other == self.client:
                self._given[other] = of_seed + of_key
                continue
            purpose = direction(self.round, self.client, other)
            key = keys.agreed(self._channel.private, self._roster[other][: keys.KEY], purpose)
            hidden = keys.encrypt(key, of_seed + of_key, purpose.encode())
            entries.append(of_client(other, hidden))
        return entries

    def mask(self, delivery: bytes, values_of: Callable[[int], vectors.Vector]) -> bytes:
        """Its vector [size], masked against everybody who shared its secrets.

        Args:
            delivery: The pairs of shares that the others made for this client, and the number that
                all receive with it.
            values_of: That number → the vector, of numbers modulo 2^64.

        Raises:
            Refused: Too few have shared, or one who is not on the roster.
        """
        self._step(Stage.DELIVERY, Stage.SURVIVORS)
        size = CLIENT.size + SECRET
        found = opened(Stage.DELIVERY, self.round, delivery, size, MOST_CLIENTS)
        hidden = by_client(found.entries, "delivery")
        self._sharing = sorted({*hidden, self.client})
        if not set(hidden) <= set(self._roster) - {self.client}:
            raise Refused("delivery: shares of somebody who is not on the roster")
        self._enough(len(self._sharing), "delivery")
        values = values_of(found.number)
        for other, content in hidden.items():
            self._take(other, content)
        total = values + vectors.mask_of(self._seed, len(values))
        for other in hidden:
            public = self._roster[other][keys.KEY :]
            purpose = pairing(self.round, self.client, other)
            key = keys.agreed(self._masking.private, public, purpose)
            vectors.add_pair(total, key, self.client, other)
        return vectors.packed(self.round, total)

    def _take(self, other: int, hidden: bytes) -> None:
        """Open a pair of shares; what cannot be read is not revealed later, and others' will do."""
        purpose = direction(self.round, other, self.client)
        key = keys.agreed(self._channel.private, self._roster[other][: keys.KEY], purpose)
        content = keys.decrypt(key, hidden, purpose.encode())
        if content is not None:
            self._given[other] = content

    def agree(self, survivors: bytes) -> bytes:
        """Its signature of whose vectors arrived, by which the others know what it was told.

        Args:
            survivors: Whose masked vectors arrived.

        Raises:
            Refused: They are too few, or others than those who shared; or nobody signs here.
        """
        if self._identity is None:
            raise Refused("agree: nobody signs in this round, since clients have no identities")
        self._step(Stage.SURVIVORS, Stage.SIGNED)
        self._there = self._told(survivors)
        signature = self._identity.sign(self._agreement().said_by(self.client))
        return sealed(Stage.AGREE, self.round, [signature])

    def reveal(self, message: bytes) -> bytes:
        """For each client that shared: of one whose vector arrived a share of its seed, of another
        a share of its masking key.

        Args:
            message: The signatures of whose vectors arrived, which this client has signed too;
                where nobody signs, whose vectors arrived.

        Raises:
            Refused: What it was told is not enough, or not what the others were told.
        """
        if self._identity is None:
            self._step(Stage.SURVIVORS, Stage.REVEAL)
            self._there = self._told(message)
        else:
            self._step(Stage.SIGNED, Stage.REVEAL)
            self._agreement().check(message, self._identity.verify)
        entries = []
        for other in self._sharing:
            if other not in self._given:
                continue
            of_seed, of_key = self._given[other][:SHARE], self._given[other][SHARE:]
            content = OF_SEED + of_seed if other in self._there else OF_KEY + of_key
            entries.append(of_client(other, content))
        return sealed(Stage.REVEAL, self.round, entries)

    def _told(self, survivors: bytes) -> frozenset[int]:
        """Whose vectors arrived, as the server says."""
        found = opened(Stage.SURVIVORS, self.round, survivors, CLIENT.size, MOST_CLIENTS)
        there = frozenset(by_client(found.entries, "survivors"))
        if not there <= set(self._sharing) or self.client not in there:
            raise Refused("survivors: they are not among those who shared, with this client")
        self._enough(len(there), "survivors")
        return there

    def _agreement(self) -> Agreement:
        return Agreement(self.round, self.threshold, self._keys, self._there)

    def _enough(self, clients: int, name: str) -> None:
        if clients < self.threshold:
            raise Refused(
                f"{name}: {clients} clients are left, and the threshold is {self.threshold}"
            )

    def _step(self, asked: Stage, then: Stage) -> None:
        """Each stage once, in order: whatever comes of it, it does not come back."""
        if self._next != asked:
            raise Refused(
                f"{asked.name.lower()} was asked for, and {self._next.name.lower()} comes next in "
                f"round {self.round}"
            )
        self._next = then
