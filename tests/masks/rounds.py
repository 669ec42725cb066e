"""A round of secure aggregation among clients of one process, with whatever goes wrong."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fedkin.core.rng import Key
from fedkin.masks.client import MaskingClient
from fedkin.masks.server import MaskedSum
from fedkin.masks.terms import LEAST, Terms
from fedkin.masks.vectors import Vector
from fedkin.masks.wire import Refused
from tests.masks.signers import identity, verifier

Change = Callable[[int, bytes], bytes]
STAGES = ("advertise", "shares", "masked", "reveal")
SIGNING = ("advertise", "shares", "masked", "agree", "reveal")  # where clients have identities


class Gone(NamedTuple):
    """Who does not answer which stage, and what others send in place of what they should."""

    advertise: Collection[int] = ()
    shares: Collection[int] = ()
    masked: Collection[int] = ()
    agree: Collection[int] = ()
    reveal: Collection[int] = ()
    changed: Mapping[str, Change] = {}


class Outcome(NamedTuple):
    """The sum, whose it is, and who was refused for what."""

    total: Vector
    survivors: list[int]
    refused: dict[int, str]
    liars: dict[int, str]


def vectors_of(clients: Collection[int], size: int, seed: int = 5) -> dict[int, Vector]:
    """Numbers over the whole range, so that sums wrap around."""
    return {
        client: Key(seed, 0, client)
        .numpy("numbers")
        .integers(0, 2**64, size, dtype=np.uint64, endpoint=False)
        for client in clients
    }


def schedule(number: int, most: int, stages: Sequence[str]) -> tuple[list[int], int, Gone]:
    """Up to ``most`` clients with awkward numbers, a threshold, and up to n − t losses over the
    stages.
    """
    drawn = random.Random(number)
    n = drawn.randint(3, most)
    clients = sorted(drawn.sample(range(500), n))
    threshold = drawn.randint(max(LEAST, n // 2 + 1), n)
    lost = drawn.sample(clients, drawn.randint(0, n - threshold))
    at = {client: drawn.choice(stages) for client in lost}
    gone = {name: [one for one, stage in at.items() if stage == name] for name in stages}
    return clients, threshold, Gone(**gone)


def plain_sum(vectors: Mapping[int, Vector], clients: Collection[int]) -> Vector:
    """The sum modulo 2^64 that everybody may know."""
    return np.sum([vectors[client] for client in clients], axis=0, dtype=np.uint64)


def play(
    vectors: Mapping[int, Vector], threshold: int, gone: Gone | None = None, signing: bool = False
) -> Outcome:
    """One whole round; ``signing``: of clients that have identities."""
    gone = gone or Gone()
    size = len(next(iter(vectors.values())))
    terms = Terms(7, threshold, size)
    server = MaskedSum(terms, vectors, verify=verifier() if signing else None)
    signers = {client: identity(client) for client in vectors} if signing else {}
    clients = {
        client: MaskingClient(client, terms.round, threshold, identity=signers.get(client))
        for client in vectors
    }
    refused: dict[int, str] = {}

    def stage(
        name: str,
        who: Collection[int],
        answer: Callable[[int], bytes],
        take: Callable[[int, bytes], None],
    ) -> None:
        for client in sorted(who):
            if client in getattr(gone, name):
                continue
            blob = answer(client)
            change = gone.changed.get(name)
            try:
                take(client, blob if change is None else change(client, blob))
            except Refused as error:
                refused[client] = str(error)

    stage("advertise", vectors, lambda one: clients[one].advertise(), server.advertised)
    roster = server.roster()
    there = [one for one in vectors if one in server.advertising]
    stage("shares", there, lambda one: clients[one].share(roster), server.shared)
    deliveries = {one: server.delivery(one) for one in server.sharing}
    stage(
        "masked",
        server.sharing,
        lambda one: clients[one].mask(deliveries[one], lambda told: vectors[one]),
        server.masked,
    )
    asking, survivors = server.asking(), server.survivors
    if signing:
        stage("agree", survivors, lambda one: clients[one].agree(asking), server.agreed)
        asking = server.signed()
    stage("reveal", server.revealing, lambda one: clients[one].reveal(asking), server.revealed)
    return Outcome(server.total(), survivors, refused, server.liars)
