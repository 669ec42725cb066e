"""Messages that are not what they should be."""

from collections.abc import Callable

import numpy as np
import pytest

from fedkin.masks.wire import HEADER, MAGIC
from tests.masks.client_examples import told_by
from tests.masks.rounds import SIGNING, STAGES, Gone, plain_sum, play, vectors_of

CLIENTS = [2, 3, 5, 7, 11, 13, 17]


THRESHOLD = 5


@pytest.mark.parametrize(
    ("stage", "signing"),
    [*((stage, False) for stage in STAGES), *((stage, True) for stage in SIGNING)],
)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda blob: blob[:-1], "bytes"),
        (lambda blob: blob + b"\0", "bytes"),
        (lambda blob: b"", "no message"),
        (lambda blob: b"x" * len(blob), "no message"),
        (lambda blob: HEADER.pack(MAGIC, 99, 7, 0, 0), "another stage"),
    ],
)
def test_a_malformed_message_leaves_its_sender_out(
    stage: str, signing: bool, change: Callable[[bytes], bytes], why: str
) -> None:
    vectors = vectors_of(CLIENTS, 3)
    found = play(vectors, THRESHOLD, Gone(changed={stage: told_by([5], change)}), signing)
    assert set(found.refused) == {5}
    assert why in found.refused[5]
    left = set(CLIENTS) - ({5} if stage not in ("agree", "reveal") else set())
    assert np.array_equal(found.total, plain_sum(vectors, left))


@pytest.mark.parametrize("stage", ["advertise", "shares", "masked"])
def test_a_message_without_an_entry_leaves_its_sender_out(stage: str) -> None:
    vectors = vectors_of(CLIENTS, 3)

    def empty(blob: bytes) -> bytes:
        magic, kind, round, number, _ = HEADER.unpack_from(blob)
        return HEADER.pack(magic, kind, round, number, 0)

    found = play(vectors, THRESHOLD, Gone(changed={stage: told_by([5], empty)}))
    assert set(found.refused) == {5}
    assert np.array_equal(found.total, plain_sum(vectors, set(CLIENTS) - {5}))


def test_an_old_rounds_message_is_refused() -> None:
    vectors = vectors_of(CLIENTS, 3)

    def old(blob: bytes) -> bytes:
        magic, stage, round, number, count = HEADER.unpack_from(blob)
        return HEADER.pack(magic, stage, round - 1, number, count) + blob[HEADER.size :]

    found = play(vectors, THRESHOLD, Gone(changed={"masked": told_by([13], old)}))
    assert found.refused == {13: "masked: a message of round 6 arrived in round 7"}
    assert np.array_equal(found.total, plain_sum(vectors, set(CLIENTS) - {13}))
