"""The server in one round: four stages, and one more where clients sign, each closed once, and the
sum at the end.

It takes of each client one message a stage. Who does not answer is left out from then on. When
fewer than the threshold are left, the round is refused.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from fedkin.core.errors import FedkinError, some
from fedkin.masks import keys, vectors
from fedkin.masks.agreement import Agreement
from fedkin.masks.client import OF_KEY, OF_SEED, REVEALED, SECRET
from fedkin.masks.shares import recover
from fedkin.masks.signatures import SIGNATURE, Verify, broadcast_digest, signed_statement
from fedkin.masks.terms import Terms, check_terms, named, pairing, point_of
from fedkin.masks.wire import (
    CLIENT,
    NoSum,
    Refused,
    Stage,
    by_client,
    of_client,
    opened,
    sealed,
)


class MaskedSum:
    """The server's side of one round.

    Args:
        terms: Round, threshold and size.
        asked: Who takes part.
        number: A number that all receive with their delivery.
        verify: Knows clients' signatures; None where nobody signs.
        heard: Stands for what everybody was sent, which is signed too.
    """

    def __init__(
        self,
        terms: Terms,
        asked: Iterable[int],
        number: int = 0,
        verify: Verify | None = None,
        heard: bytes = b"",
    ) -> None:
        self.terms, self._number, self._verify, self._heard = terms, number, verify, heard
        self.asked = frozenset(asked)
        check_terms(terms, len(self.asked))
        self._public: dict[int, bytes] = {}
        self._seen: set[bytes] = set()
        self._commitments: dict[int, bytes] = {}
        self._signatures: dict[int, bytes] = {}
        self._hidden: dict[int, dict[int, bytes]] = {}
        self._keys = b""  # stands for the roster
        self._arrived: set[int] = set()
        self._agreed: dict[int, bytes] = {}
        self._revealed: dict[int, dict[int, bytes]] = {}
        self._total = np.zeros(terms.size, dtype=np.uint64)
        self._stage = Stage.ADVERTISE
        self.liars: dict[int, str] = {}  # clients whose shares fit no secret

    def advertised(self, client: int, blob: bytes) -> None:
        """Take a client's public keys. Raises Refused, as the others do."""
        self._expect(Stage.ADVERTISE, client, self.asked, self._public)
        size = 3 * keys.KEY + (0 if self._verify is None else SIGNATURE)
        (content,) = self._open(Stage.ADVERTISE, blob, size, 1, least=1)
        public, signature = content[: 2 * keys.KEY], content[3 * keys.KEY :]
        text = signed_statement(self.terms.round, client, public, self._heard)
        if self._verify is not None and not self._verify(client, text, signature):
            raise Refused("advertise: its keys are not signed by its node")
        for key in (public[: keys.KEY], public[keys.KEY :]):
            if key in self._seen:
                raise Refused("advertise: one of its keys was sent before")
            keys.check_public(key)
            self._seen.add(key)
        self._public[client] = public
        self._commitments[client] = content[2 * keys.KEY : 3 * keys.KEY]
        self._signatures[client] = signature

    def roster(self) -> bytes:
        """Everybody's public keys, the same message for all: no more are taken."""
        self._close(Stage.ADVERTISE, Stage.SHARES, self._public)
        entries = [
            of_client(client, self._public[client] + self._signatures[client])
            for client in sorted(self._public)
        ]
        roster = sealed(Stage.ROSTER, self.terms.round, entries, self.terms.threshold)
        self._keys = broadcast_digest(roster)
        return roster

    @property
    def advertising(self) -> list[int]:
        """Who is on the roster: nobody else is asked for shares."""
        return sorted(self._public)

    def shared(self, client: int, blob: bytes) -> None:
        """Take the hidden pairs of shares that a client made for the others."""
        self._expect(Stage.SHARES, client, self._public, self._hidden)
        most = len(self._public) - 1
        entries = self._open(Stage.SHARES, blob, CLIENT.size + SECRET, most, least=most)
        found = by_client(entries, "shares")
        if set(found) != set(self._public) - {client}:
            raise Refused("shares: they are not for everybody on the roster")
        self._hidden[client] = found

    def delivery(self, client: int) -> bytes:
        """The pairs that are for a client; no more are taken."""
        if self._stage == Stage.SHARES:
            self._close(Stage.SHARES, Stage.MASKED, self._hidden)
        others = sorted(set(self._hidden) - {client})
        entries = [of_client(other, self._hidden[other][client]) for other in others]
        return sealed(Stage.DELIVERY, self.terms.round, entries, self._number)

    @property
    def sharing(self) -> list[int]:
        """Who shared its secrets: nobody else is asked for a vector."""
        return sorted(self._hidden)

    def masked(self, client: int, blob: bytes) -> None:
        """Take a client's masked vector."""
        self._expect(Stage.MASKED, client, self._hidden, self._arrived)
        self._total += vectors.unpacked(self.terms.round, blob, self.terms.size)
        self._arrived.add(client)

    @property
    def survivors(self) -> list[int]:
        """Whose vectors are in the sum."""
        return sorted(self._arrived)

    def asking(self) -> bytes:
        """Whose vectors arrived, the same message for all: no more are taken."""
        if self._stage == Stage.SHARES:  # nobody was there to deliver to
            self._close(Stage.SHARES, Stage.MASKED, self._hidden)
        then = Stage.REVEAL if self._verify is None else Stage.AGREE
        self._close(Stage.MASKED, then, self._arrived)
        entries = [of_client(client) for client in self.survivors]
        return sealed(Stage.SURVIVORS, self.terms.round, entries)

    def agreed(self, client: int, blob: bytes) -> None:
        """Take a client's signature of whose vectors arrived, where clients sign."""
        self._expect(Stage.AGREE, client, self._arrived, self._agreed)
        (signature,) = self._open(Stage.AGREE, blob, SIGNATURE, 1, least=1)
        text = self._agreement().said_by(client)
        if self._verify is None or not self._verify(client, text, signature):
            raise Refused("agree: its node did not sign the survivors that it was told")
        self._agreed[client] = signature

    def signed(self) -> bytes:
        """The signatures, the same message for all who signed: no more are taken."""
        self._close(Stage.AGREE, Stage.REVEAL, self._agreed)
        entries = [of_client(client, self._agreed[client]) for client in self.revealing]
        return sealed(Stage.SIGNED, self.terms.round, entries)

    @property
    def revealing(self) -> list[int]:
        """Who is asked to take masks off: where clients sign, those who signed."""
        return self.survivors if self._verify is None else sorted(self._agreed)

    def _agreement(self) -> Agreement:
        terms = self.terms
        return Agreement(terms.round, terms.threshold, self._keys, frozenset(self._arrived))

    def revealed(self, client: int, blob: bytes) -> None:
        """Take a client's shares of the secrets that take the masks off."""
        self._expect(Stage.REVEAL, client, self.revealing, self._revealed)
        most = len(self._hidden)
        entries = self._open(Stage.REVEAL, blob, CLIENT.size + REVEALED, most)
        found = by_client(entries, "reveal")
        for other, content in found.items():
            wanted = OF_SEED if other in self._arrived else OF_KEY
            if other not in self._hidden or content[:1] != wanted:
                raise Refused("reveal: a share of a secret that nobody asked for")
        self._revealed[client] = {other: content[1:] for other, content in found.items()}

    def total(self) -> vectors.Vector:
        """The sum [size] of the survivors' vectors, modulo 2^64.

        Raises:
            FedkinError: Fewer than the threshold revealed shares.
            NoSum: What they revealed fits no secret.
        """
        self._close(Stage.REVEAL, Stage.ADVERTISE, self._revealed)
        gone = sorted(set(self._hidden) - self._arrived)
        for client in self.survivors:
            seed = self._secret(client, partial(_is_seed, self._commitments[client]))
            self._total -= vectors.mask_of(seed, self.terms.size)
        for client in gone:
            private = self._secret(client, partial(_is_key, self._public[client][keys.KEY :]))
            for other in self.survivors:
                purpose = pairing(self.terms.round, client, other)
                key = keys.agreed(private, self._public[other][keys.KEY :], purpose)
                vectors.add_pair(self._total, key, client, other)
        return self._total

    def _secret(self, of: int, right: "partial[bool]") -> bytes:
        """A client's secret from the shares that were revealed; who lied before is heard last."""
        order = sorted(self._revealed, key=lambda one: (one in self.liars, one))
        shares = {
            point_of(client): self._revealed[client][of]
            for client in order
            if of in self._revealed[client]
        }
        try:
            found = recover(shares, self.terms.threshold, right)
        except Refused as error:
            raise NoSum(
                f"{named(self.terms.round)}: the masks of client {of} cannot be taken off: {error}"
            ) from None
        for point in found.liars:
            self.liars[point - 1] = f"its share of client {of}'s secret is false"
        return found.secret

    def _open(self, stage: Stage, blob: bytes, size: int, most: int, least: int = 0) -> list[bytes]:
        entries = opened(stage, self.terms.round, blob, size, most).entries
        if len(entries) < least:
            raise Refused(f"{stage.name.lower()}: {len(entries)} entries, not {least}")
        return entries

    def _expect(self, stage: Stage, client: int, who: Iterable[int], known: Iterable[int]) -> None:
        if self._stage != stage:
            raise Refused(f"{stage.name.lower()}: it came when that stage was closed")
        if client not in who:
            raise Refused(f"{stage.name.lower()}: nobody asked this client")
        if client in known:
            raise Refused(f"{stage.name.lower()}: this client answered already")

    def _close(self, stage: Stage, then: Stage, who: "Mapping[int, object] | set[int]") -> None:
        if self._stage != stage:
            raise ValueError(f"the stage is {self._stage.name}, not {stage.name}")
        self._stage = then
        if len(who) < self.terms.threshold:
            gone = sorted(self.asked - set(who))
            raise FedkinError(
                f"{named(self.terms.round)}: secure aggregation needs {self.terms.threshold} of "
                f"{len(self.asked)} clients, and {len(who)} answered {stage.name.lower()} (without "
                f"clients {some(map(str, gone))})"
            )


def _is_seed(commitment: bytes, secret: bytes) -> bool:
    return keys.commitment(secret) == commitment


def _is_key(public: bytes, secret: bytes) -> bool:
    return keys.pair_of(secret).public == public
