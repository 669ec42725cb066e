"""What a client's shares tell of its two secrets: one of them, and nothing of the other."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, product

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.masks import keys
from fedkin.masks.client import OF_KEY, OF_SEED, REVEALED, SECRET, MaskingClient
from fedkin.masks.randomness import of_the_system
from fedkin.masks.server import MaskedSum
from fedkin.masks.shares import PRIME, SHARE
from fedkin.masks.terms import Terms
from fedkin.masks.wire import (
    CLIENT,
    HEADER,
    MOST_CLIENTS,
    Stage,
    by_client,
    of_client,
    opened,
    sealed,
)

ROUND, THRESHOLD = 7, 3


def _advertised(drawn: list[tuple[str, int]]) -> tuple[MaskedSum, dict[int, MaskingClient]]:
    """Five clients with their keys at the server; what client 0 draws is noted."""

    def draw(purpose: str, size: int) -> bytes:
        drawn.append((purpose, size))
        return of_the_system(purpose, size)

    server = MaskedSum(Terms(ROUND, THRESHOLD, 2), range(5))
    clients = {one: MaskingClient(one, ROUND, THRESHOLD) for one in range(1, 5)}
    clients = {0: MaskingClient(0, ROUND, THRESHOLD, draw), **clients}
    for one, client in clients.items():
        server.advertised(one, client.advertise())
    return server, clients


def test_a_seed_and_a_key_are_shared_by_polynomials_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With common ones the two shares of any single client would tell how both secrets differ."""
    pairs: list[bytes] = []

    def noted(key: bytes, content: bytes, about: bytes) -> bytes:
        pairs.append(content)
        return content

    monkeypatch.setattr(keys, "encrypt", noted)
    drawn: list[tuple[str, int]] = []
    server, clients = _advertised(drawn)
    roster = server.roster()
    before = len(drawn)
    clients[0].share(roster)
    assert [purpose for purpose, _ in drawn[before:]] == ["seed's", "key's"]
    assert len(pairs) == 4
    words = [np.frombuffer(pair, dtype="<u4").astype(np.int64) for pair in pairs]
    parts = SHARE // 4
    apart = {tuple((each[:parts] - each[parts:]) % PRIME) for each in words}
    assert len(apart) == len(pairs)


def _entries(stage: Stage, blob: bytes, size: int) -> dict[int, bytes]:
    return by_client(opened(stage, ROUND, blob, CLIENT.size + size, MOST_CLIENTS).entries, "test")


def _before_survivors(n: int, threshold: int) -> dict[int, MaskingClient]:
    """Clients at the end of a round whose server keeps to no terms of its own."""
    clients = {one: MaskingClient(one, ROUND, threshold) for one in range(n)}
    public = [
        of_client(one, client.advertise()[HEADER.size :][: 2 * keys.KEY])
        for one, client in clients.items()
    ]
    roster = sealed(Stage.ROSTER, ROUND, public, threshold)
    shared = {
        one: _entries(Stage.SHARES, client.share(roster), SECRET) for one, client in clients.items()
    }
    for one, client in clients.items():
        given = [of_client(other, shared[other][one]) for other in clients if other != one]
        delivery = sealed(Stage.DELIVERY, ROUND, given)
        client.mask(delivery, lambda told: np.zeros(1, dtype=np.uint64))
    return clients


def _kinds(clients: dict[int, MaskingClient], told: dict[int, set[int]]) -> Counter[bytes]:
    """How many shares of client 0's seed and of its key are revealed."""
    kinds: Counter[bytes] = Counter()
    for one, client in clients.items():
        survivors = [of_client(each) for each in sorted(told[one])]
        blob = client.reveal(sealed(Stage.SURVIVORS, ROUND, survivors))
        kinds[_entries(Stage.REVEAL, blob, REVEALED)[0][:1]] += 1
    return kinds


@pytest.mark.parametrize("n", [4, 5])
def test_a_server_that_tells_each_another_story_has_one_secret_of_a_client(n: int) -> None:
    """Whichever threshold clients accept, and whoever is told that client 0 is gone."""
    accepted = 0
    for threshold, gone_for in product(range(1, n), _subsets(range(1, n))):
        try:
            clients = _before_survivors(n, threshold)
        except FedkinError:
            continue
        accepted += 1
        told = {one: set(range(n)) - ({0} if one in gone_for else set()) for one in range(n)}
        kinds = _kinds(clients, told)
        assert kinds.total() == n
        assert min(kinds[OF_SEED], kinds[OF_KEY]) < threshold
    assert accepted == 2 ** (n - 1) * len(range(n // 2 + 1, n))


def _subsets(clients: Iterable[int]) -> list[set[int]]:
    whole = list(clients)
    return [set(few) for size in range(len(whole) + 1) for few in combinations(whole, size)]
