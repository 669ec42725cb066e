"""Who resembles whom: cosines of label histograms, and the Laplacian without the square."""

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.methods.parts.affinity import (
    laplacian_matrix,
    laplacian_of,
    no_laplacian,
    pull_of,
    summed,
    with_isolated_node,
)

HISTOGRAMS = {0: [3.0, 4.0, 0.0], 1: [0.0, 5.0, 0.0], 3: [1.0, 0.0, 0.0]}  # of 2 it was lost
W = [[1.0, 0.8, 0.0, 0.6], [0.8, 1.0, 0.0, 0.0], [0.0] * 4, [0.6, 0.0, 0.0, 1.0]]
C = torch.tensor([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])


def replies() -> dict[int, Reply]:
    return {
        client: Reply({"coefficients": torch.tensor(counts)}, 1.0)
        for client, counts in HISTOGRAMS.items()
    }


def test_cosines_of_histograms_and_nobody_for_who_said_nothing() -> None:
    found = laplacian_of("label_cosine", replies(), 4)
    degrees = torch.tensor(W, dtype=torch.float64).sum(1)
    torch.testing.assert_close(found["degree"], degrees)
    expected = torch.diag(degrees) - torch.tensor(W, dtype=torch.float64)
    torch.testing.assert_close(laplacian_matrix(found), expected)
    assert found["unit"].shape == (4, 3)
    assert found["unit"].dtype == torch.float64


@pytest.mark.parametrize("affinity", ["label_cosine", W], ids=["cosines", "given"])
def test_the_pull_is_a_row_of_lc(affinity) -> None:
    found = laplacian_of(affinity, replies(), 4)
    whole = laplacian_matrix(found) @ C.double()
    sums = summed(found, C)
    assert sums.shape == ((3, 2) if affinity == "label_cosine" else (4, 2))
    for client in range(4):
        pull = pull_of(found, sums, client, C[client])
        assert pull.dtype == C.dtype
        torch.testing.assert_close(pull.double(), whole[client], rtol=1e-6, atol=1e-6)


def test_a_matrix_that_was_given_is_kept() -> None:
    found = laplacian_of(W, {}, 4)
    assert found["affinity"].tolist() == W
    assert found["degree"].tolist() == pytest.approx([2.4, 1.8, 0.0, 1.6])


def test_who_resembles_nobody_is_pulled_nowhere() -> None:
    found = laplacian_of("none", replies(), 4)
    assert laplacian_matrix(found).tolist() == torch.zeros(4, 4).tolist()
    assert pull_of(found, summed(found, C), 1, C[1]).tolist() == [0, 0]
    assert no_laplacian(3)["unit"].shape == (3, 0)


@pytest.mark.parametrize("affinity", ["label_cosine", "none", W], ids=["cosines", "none", "given"])
def test_a_newcomer_resembles_nobody_and_changes_nobody(affinity) -> None:
    before = laplacian_of(affinity, replies(), 4)
    after = laplacian_matrix(with_isolated_node(before))
    assert after.shape == (5, 5)
    torch.testing.assert_close(after[:4, :4], laplacian_matrix(before))
    assert not after[4].any()
    assert not after[:, 4].any()
