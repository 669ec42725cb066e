"""Numbers of some pairs of clients."""

import pytest
import torch

from fedkin.methods.parts.fedfomo.pairs import added, dense_row, no_pairs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_dense_row_is_0_where_nothing_is_known(dtype):
    known = added(
        no_pairs(dtype),
        {
            0: (torch.tensor([1]), torch.tensor([7.0], dtype=dtype)),
            2: (torch.tensor([3, 0]), torch.tensor([0.5, -2.0], dtype=dtype)),
        },
    )
    row = dense_row(known, 2, 5)
    assert row.tolist() == [-2.0, 0.0, 0.0, 0.5, 0.0]
    assert torch.from_numpy(row).dtype == dtype
    assert dense_row(known, 1, 3).tolist() == [0.0, 0.0, 0.0]
