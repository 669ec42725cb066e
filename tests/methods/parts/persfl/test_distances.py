"""The distances of two known distributions."""

import math

import pytest
import torch

from fedkin.methods.parts.persfl.distances import DISTANCES

TEACHER, STUDENT = (0.5, 0.5), (0.25, 0.75)
BY_HAND = {
    "kl": 0.5 * math.log(2) + 0.5 * math.log(2 / 3),
    "reverse_kl": 0.25 * math.log(0.5) + 0.75 * math.log(1.5),
    "gd": -0.5 * math.log(0.25) - 0.5 * math.log(0.75),
}


@pytest.mark.parametrize("objective", BY_HAND)
def test_by_hand(objective: str) -> None:
    teacher, student = (torch.tensor([p], dtype=torch.float64).log() for p in (TEACHER, STUDENT))
    found = DISTANCES[objective](teacher, student)
    assert found.tolist() == pytest.approx([BY_HAND[objective]])
    assert set(DISTANCES) == set(BY_HAND)
    if objective != "gd":
        assert DISTANCES[objective](teacher, teacher).tolist() == [0.0]
