"""Shares become whole numbers of samples, and none is lost."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedkin.data.partitions.shares import round_columns, round_rows


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.integers(1, 8),
    st.integers(0, 20),
)
@settings(max_examples=60, deadline=None)
def test_rounding_is_exact(pools: list[int], clients: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(clients, 0.3), size=len(pools)).T
    columns = round_columns(shares, np.array(pools))
    assert columns.sum(axis=0).tolist() == pools
    assert columns.min() >= 0
    assert np.abs(columns - shares * pools).max() <= 1 + 1e-9
    total = np.array(pools)
    rows = round_rows(rng.dirichlet(np.full(5, 0.3), size=len(pools)) * total[:, None], total)
    assert rows.sum(axis=1).tolist() == pools
    assert rows.min() >= 0
