"""A learner as a model."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.models.learner import TINY, from_learner
from tests.models.learner_examples import Counting


def test_outputs_are_logarithms_and_never_minus_infinity() -> None:
    model = from_learner("count", Counting())
    w = {"counts": torch.tensor([3.0, 1.0, 0.0]), "fits": torch.tensor([1])}
    told = model.outputs(w, torch.zeros(2, 4))
    torch.testing.assert_close(told.exp()[0], torch.tensor([0.75, 0.25, TINY]))
    assert model.initial["counts"].dtype == torch.float32
    assert model.initial["fits"].dtype == torch.int64
    assert not model.pads


def test_it_has_no_gradients_and_says_so() -> None:
    model = from_learner("count", Counting())
    with pytest.raises(FedkinError, match="model 'count' is no torch module and has no gradients"):
        model.train_outputs(model.initial, torch.zeros(2, 4))
