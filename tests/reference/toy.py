"""Tiny data, models and plans drawn from a seed, for the tests of the references (the references
themselves draw nothing).
"""

from collections.abc import Sequence

import numpy as np

from tests.reference.model import Batch, Params


def make_data(
    seed: int, sizes: Sequence[int], d: int = 3, C: int = 3, val: int = 7
) -> dict[int, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    data = {}
    for k, n in enumerate(sizes):
        w = rng.normal(size=(C, d))
        x, x_val = rng.normal(size=(n, d)), rng.normal(size=(val, d))
        data[k] = {
            "x": x,
            "y": np.argmax(x @ w.T + rng.normal(size=(n, C)), axis=1),
            "x_val": x_val,
            "y_val": np.argmax(x_val @ w.T, axis=1),
        }
    return data


def make_model(seed: int, kind: str = "mlr", d: int = 3, C: int = 3, h: int = 4) -> Params:
    rng = np.random.default_rng(seed)
    if kind == "mlr":
        return {"weight": rng.normal(size=(C, d)), "bias": rng.normal(size=C)}
    return {
        "hidden.weight": rng.normal(size=(h, d)),
        "hidden.bias": rng.normal(size=h),
        "out.weight": rng.normal(size=(C, h)),
        "out.bias": rng.normal(size=C),
    }


def make_batches(rng: np.random.Generator, n: int, steps: int, b: int) -> list[Batch]:
    """`steps` mini-batches padded to b rows; a padding row is row 0 with weight 0."""
    batches = []
    for _ in range(steps):
        real = int(rng.integers(1, min(b, n) + 1))
        index = np.concatenate(
            [rng.choice(n, size=real, replace=False), np.zeros(b - real, dtype=int)]
        )
        batches.append((index, np.concatenate([np.full(real, 1.0 / real), np.zeros(b - real)])))
    return batches


def make_plan(
    seed: int, sizes: Sequence[int], rounds: int, steps: int, b: int = 4
) -> list[dict[int, list[Batch]]]:
    rng = np.random.default_rng(seed)
    return [{k: make_batches(rng, n, steps, b) for k, n in enumerate(sizes)} for _ in range(rounds)]


def assert_close(a: Params, b: Params, tolerance: float = 1e-12) -> None:
    assert set(a) == set(b)
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=tolerance, atol=tolerance)


def finite_difference(function, vector: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences of a scalar function of a vector."""
    out = np.zeros_like(vector)
    for i in range(len(vector)):
        up, down = vector.copy(), vector.copy()
        up[i] += h
        down[i] -= h
        out[i] = (function(up) - function(down)) / (2.0 * h)
    return out
