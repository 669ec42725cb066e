"""Gradient inversion, on updates whose samples are known."""

import numpy as np
import pytest
import torch

from fedkin.audit.inversion import Rebuilt, candidates, inverted, rebuilt
from fedkin.audit.losses import Observed
from fedkin.core.model import Batch, from_module
from fedkin.core.ops import descend, gradient


def update(samples, noise=0.0, bias=True):
    """What a client sends after one step on these samples."""
    torch.manual_seed(4)
    layers = torch.nn.Linear(12, 9, bias=bias), torch.nn.ReLU(), torch.nn.Linear(9, 3)
    model = from_module("dense", torch.nn.Sequential(*layers))
    rows = len(samples)
    batch = Batch(samples, torch.arange(rows) % 3, torch.full((rows,), 1 / rows))
    after = descend(model.initial, gradient(model.loss)(model.initial, batch), 0.1)
    noised = {name: value + noise * torch.randn_like(value) for name, value in after.items()}
    return Observed({}, {"parameters": noised}, {"parameters": model.initial})


def samples(rows, seed=0):
    return torch.rand(rows, 12, generator=torch.Generator().manual_seed(seed))


def test_one_sample_is_rebuilt_as_it_was():
    one = samples(1)
    found = candidates(update(one), 12)
    assert 2 <= len(found) <= 9
    torch.testing.assert_close(found, one.double().expand(len(found), 12), atol=1e-3, rtol=1e-3)
    told = inverted([rebuilt(update(one), one, samples(5, seed=1))])
    assert told.closest == pytest.approx(1, abs=1e-5)
    assert (told.clients, told.rebuilt, told.chance, told.auc) == (1, 1.0, 0.0, 1.0)


def test_several_samples_are_mixed_and_noise_hides_them():
    many = samples(40)
    mixed = inverted([rebuilt(update(many), many, samples(40, seed=1))])
    assert mixed.rebuilt < 0.5
    noised = inverted([rebuilt(update(samples(1), noise=0.3), samples(1), samples(5, seed=1))])
    assert noised.closest < 0.9
    assert noised.rebuilt == 0


def test_clients_that_differ_tell_nothing_of_their_samples():
    each = [Rebuilt(np.full(9, 0.9), np.array([0.9])), Rebuilt(np.array([0.1]), np.full(9, 0.1))]
    assert inverted(each).auc == 0.5


def test_what_has_no_first_layer_of_that_size_is_passed_over():
    assert rebuilt(update(samples(1), bias=False), samples(1), samples(2)) is None
    assert candidates(update(samples(1)), 11) is None
    assert candidates(Observed({}, {"predictions": torch.ones(2, 3)}, {}), 12) is None
    assert inverted([]) is None


def test_factors_of_an_update_are_passed_over():
    """Rows as long as a sample, of another layer's factors."""
    sent = {"out.weight": torch.ones(2, 12), "out.bias": torch.ones(3)}
    received = {"out.weight": torch.ones(3, 9), "out.bias": torch.ones(3)}
    assert candidates(Observed({}, {"parameters": sent}, {"parameters": received}), 12) is None
