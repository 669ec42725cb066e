"""What PPFL's server knows of memberships: L, p and C, whose rows move and whose clients grow."""

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.engine.codec import encode
from fedkin.methods.parts.affinity import laplacian_matrix, laplacian_of
from fedkin.methods.parts.ppfl.memberships import (
    even,
    introduced,
    renewed,
    row_of_lc,
    with_newcomer,
)

W = [[0.0, 2.0, 0.5], [2.0, 0.0, 0.0], [0.5, 0.0, 0.0]]
HISTOGRAMS = {0: [3.0, 4.0], 2: [0.0, 5.0]}  # of client 1 it was lost
MOVED = {0: [0.7, 0.2, 0.1, 0.0], 2: [0.0, 0.0, 0.5, 0.5]}


def state(affinity):
    replies = {k: Reply({"coefficients": torch.tensor(h)}, 1.0) for k, h in HISTOGRAMS.items()}
    begun = {"theta": {}, **even(3, 4, torch.float64), "block": 0}
    known = introduced(begun, laplacian_of(affinity, replies, 3), {0: 6.0, 2: 2.0})
    return renewed(known, {k: torch.tensor(c, dtype=torch.float64) for k, c in MOVED.items()})


def rows(found):
    whole = laplacian_matrix(found["laplacian"]) @ found["memberships"]
    told = torch.stack([row_of_lc(found, client) for client in range(len(whole))])
    torch.testing.assert_close(told, whole)
    return told


def test_before_anybody_is_known_nobody_is_drawn_anywhere() -> None:
    begun = even(3, 4, torch.float32)
    assert begun["memberships"].tolist() == [[0.25] * 4] * 3
    assert begun["memberships"].dtype == torch.float32
    assert not rows({**begun, "memberships": begun["memberships"].double()}).any()


@pytest.mark.parametrize("affinity", ["label_cosine", W], ids=["cosines", "given"])
def test_a_client_is_drawn_by_its_row_of_lc(affinity) -> None:
    found = state(affinity)
    assert found["memberships"].tolist() == [MOVED[0], [0.25] * 4, MOVED[2]]
    assert rows(found).abs().max() > 0.1
    assert list(found) == ["theta", "memberships", "laplacian", "sums", "shares", "block"]


def test_shares_are_of_those_that_were_heard() -> None:
    assert state("label_cosine")["shares"].tolist() == [0.75, 0.0, 0.25]


def test_a_state_is_not_changed() -> None:
    before = state("label_cosine")
    kept = encode(before)
    after = renewed(before, {0: torch.tensor([1.0, 0, 0, 0], dtype=torch.float64)})
    assert encode(before) == kept
    assert after["memberships"][0].tolist() == [1, 0, 0, 0]
    assert not torch.equal(rows(after), rows(before))


@pytest.mark.parametrize("affinity", ["label_cosine", "none", W], ids=["cosines", "none", "given"])
def test_a_newcomer_resembles_nobody(affinity) -> None:
    before = state(affinity)
    after = with_newcomer(before)
    assert after["memberships"][3].tolist() == [0.25] * 4
    assert after["shares"].tolist() == [0.75, 0.0, 0.25, pytest.approx(1 / 3)]
    torch.testing.assert_close(rows(after)[:3], rows(before))
    assert not rows(after)[3].any()
