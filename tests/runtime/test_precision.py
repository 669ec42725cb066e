"""Lower precision in training passes, and nowhere else."""

import torch

from fedkin.core.rng import Key
from fedkin.models.build import build
from fedkin.runtime.precision import lowered

MODEL = build("dnn", (7,), 3, Key(1), "categorical")
X = torch.linspace(-1, 1, 35).reshape(5, 7)


def test_training_rounds_more_and_evaluation_does_not() -> None:
    low = lowered(MODEL, "bfloat16")
    w = MODEL.initial
    assert torch.equal(low.outputs(w, X), MODEL.outputs(w, X))
    trained, exact = low.train_outputs(w, X), MODEL.train_outputs(w, X)
    assert trained.dtype == torch.float32
    assert not torch.equal(trained, exact)
    assert torch.allclose(trained, exact, atol=0.05)


def test_float32_is_the_model_itself() -> None:
    assert lowered(MODEL, "float32") is MODEL
