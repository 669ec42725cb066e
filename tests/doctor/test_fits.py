"""Fits against the normal equations."""

import numpy as np
import pytest

from fedkin.doctor.fits import _Near, fits, pooled, products


def test_models_are_those_of_the_normal_equations() -> None:
    rng = np.random.default_rng(0)
    x, y, owner = rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), np.arange(60) % 3
    p = products(x, y, owner, 3)
    where = rng.normal(size=(3, 3, 2))
    near = _Near(p, *np.linalg.eigh(p.xx))(where, 7.0)
    own = x[owner == 1]
    right = own.T @ y[owner == 1] + 7.0 * where[1]
    assert near[1] == pytest.approx(np.linalg.solve(own.T @ own + 7.0 * np.eye(3), right))
    everyone = pooled(p, np.ones(3))
    assert everyone == pytest.approx(np.linalg.solve(x.T @ x + np.eye(3), x.T @ y))
    settings = [(one.way, one.setting) for one in fits(p, 0)]
    assert len(settings) == len(set(settings))
    assert {way for way, _ in settings} == {"alone", "shared", "offset", "anchored"}  # too few
