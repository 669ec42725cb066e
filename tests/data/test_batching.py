"""Batches as data: every sample as often as promised, weights that make means."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedkin.core.errors import FedkinError
from fedkin.data import batching

SIZES = {
    "n": st.integers(1, 90),
    "batch": st.integers(1, 40),
    "times": st.integers(1, 6),
    "seed": st.integers(0, 9),
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def shape_is_sound(table: batching.Plan, n: int) -> None:
    assert table.index.dtype == torch.int64
    assert table.weight.dtype == torch.float32
    assert table.index.shape == table.weight.shape
    assert int(table.index.min()) >= 0
    assert int(table.index.max()) < n
    torch.testing.assert_close(table.weight.sum(1), torch.ones(len(table.weight)))
    for weights in table.weight:
        real = weights[weights > 0]
        torch.testing.assert_close(real, torch.full_like(real, 1 / len(real)))
    assert (table.index[table.weight == 0] == 0).all()


@given(**SIZES)
@settings(max_examples=150, deadline=None)
def test_padded_epochs_see_every_sample_once(n: int, batch: int, times: int, seed: int) -> None:
    table = batching.epochs(n, batch, times, rng(seed))
    shape_is_sound(table, n)
    steps = -(-n // batch)
    assert table.index.shape == (times * steps, batch)
    for e in range(times):
        part = slice(e * steps, (e + 1) * steps)
        seen = table.index[part][table.weight[part] > 0]
        assert sorted(seen.tolist()) == list(range(n))


@given(**SIZES)
@settings(max_examples=150, deadline=None)
def test_unpadded_epochs_wrap_around(n: int, batch: int, times: int, seed: int) -> None:
    table = batching.epochs(n, batch, times, rng(seed), pad=False)
    shape_is_sound(table, n)
    width, steps = min(n, batch), -(-n // min(n, batch))
    assert table.index.shape == (times * steps, width)
    assert (table.weight > 0).all()
    flat = table.index.reshape(times, -1)
    for order in flat:
        assert sorted(order[:n].tolist()) == list(range(n))
        assert order[n:].tolist() == order[: steps * width - n].tolist()
    assert all(len(set(row.tolist())) == width for row in table.index)


@given(**SIZES, pad=st.booleans())
@settings(max_examples=150, deadline=None)
def test_steps_run_through_permutation_after_permutation(
    n: int, batch: int, times: int, seed: int, pad: bool
) -> None:
    table = batching.steps(n, batch, times, rng(seed), pad=pad)
    shape_is_sound(table, n)
    assert table.index.shape == (times, batch if pad or n >= batch else n)
    if n < batch:
        assert all(
            sorted(i[w > 0].tolist()) == list(range(n))
            for i, w in zip(table.index, table.weight, strict=True)
        )
        return
    flat = table.index.reshape(-1)
    for start in range(0, len(flat) - n + 1, n):
        assert sorted(flat[start : start + n].tolist()) == list(range(n))
    rest = flat[len(flat) // n * n :].tolist()
    assert len(set(rest)) == len(rest)


@given(**SIZES, pad=st.booleans())
@settings(max_examples=150, deadline=None)
def test_uniform_batches_have_no_repetition(
    n: int, batch: int, times: int, seed: int, pad: bool
) -> None:
    table = batching.uniform(n, batch, times, rng(seed), pad=pad)
    shape_is_sound(table, n)
    for index, weight in zip(table.index, table.weight, strict=True):
        real = index[weight > 0].tolist()
        assert len(set(real)) == len(real) == min(n, batch)


@pytest.mark.parametrize(("n", "batch"), [(12, 4), (60, 4)])  # both ways of drawing
def test_uniform_is_uniform(n: int, batch: int) -> None:
    draws = 6000
    counts = torch.bincount(batching.uniform(n, batch, draws, rng()).index.reshape(-1), minlength=n)
    expected = draws * batch / n
    assert (counts - expected).abs().max() < 5 * expected**0.5
    pairs = batching.uniform(n, batch, draws, rng(1)).index
    both = sum(1 for row in pairs.tolist() if 0 in row and 1 in row)
    assert both == pytest.approx(draws * batch * (batch - 1) / (n * (n - 1)), rel=0.35)


@pytest.mark.parametrize("make", [batching.epochs, batching.steps, batching.uniform])
def test_seeded(make) -> None:  # type: ignore[no-untyped-def]
    assert torch.equal(make(70, 8, 5, rng(1)).index, make(70, 8, 5, rng(1)).index)
    assert not torch.equal(make(70, 8, 5, rng(1)).index, make(70, 8, 5, rng(2)).index)


def test_epochs_are_shuffled_each_time() -> None:
    index = batching.epochs(50, 50, 4, rng()).index
    assert len({tuple(row) for row in index.tolist()}) == 4
    assert not torch.equal(index[0], torch.arange(50))


def test_faults() -> None:
    for make in (batching.epochs, batching.steps, batching.uniform):
        with pytest.raises(FedkinError, match="without samples"):
            make(0, 4, 1, rng())
        with pytest.raises(FedkinError, match="batch=0"):
            make(4, 0, 1, rng())
        with pytest.raises(FedkinError, match="=0 must be at least 1"):
            make(4, 4, 0, rng())


def test_small_plans_are_cheap() -> None:
    generator = rng()
    start = time.process_time()  # the clock also tells what others do
    for _ in range(300):
        batching.epochs(200, 20, 1, generator)
    each = (time.process_time() - start) / 300
    print(f"epochs(200, 20, 1): {each * 1e6:.0f} µs")
    assert each < 2e-3  # about 10 µs on an idle core
