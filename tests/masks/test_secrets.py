"""What a client's shares tell of its two secrets: one of them, and nothing of the other."""

import numpy as np
import pytest

from fedkin.masks import keys
from fedkin.masks.client import MaskingClient
from fedkin.masks.randomness import of_the_system
from fedkin.masks.server import MaskedSum
from fedkin.masks.shares import PRIME, SHARE
from fedkin.masks.terms import Terms

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

    monkeypatch.setattr(keys, "hidden", noted)
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
