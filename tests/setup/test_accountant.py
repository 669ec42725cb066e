"""What privacy costs, against the library's own figures."""

import pytest

from fedkin.setup.accountant import Mechanism, epsilon, noise_for
from tests.experiment.privacy_examples import library


def test_epsilon_is_the_librarys_own():
    for noise, share, delta, rounds in ((1.3, 1.0, 1e-6, 40), (0.9, 0.25, 1e-5, 7)):
        found = epsilon(Mechanism(noise, share, delta), rounds)
        assert found == pytest.approx(library(noise, share, delta, rounds), abs=1e-6)


def test_a_target_is_met_and_hardly_more():
    noise = noise_for(3.0, 1e-5, 1.0, 12)
    assert 3.0 - 0.02 < library(noise, 1.0, 1e-5, 12) <= 3.0
