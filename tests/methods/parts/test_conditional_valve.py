"""GPFL's valve and embeddings beside the same written out by hand."""

import pytest
import torch
from torch.nn import functional

from fedkin.core.model import Batch
from fedkin.methods.parts.conditional_valve import (
    BESIDE,
    CLASSES,
    guided_step,
    modules,
    moved,
    objective,
)
from fedkin.methods.parts.extra_parameters import without
from tests.methods.federation import HIDDEN, WIDTH, architecture

DRAW = torch.Generator().manual_seed(11)


def drawn(*shape):
    return torch.randn(*shape, generator=DRAW, dtype=torch.float64)


MODEL = architecture("dnn")
W = {**MODEL.initial, **modules(3, HIDDEN, torch.float64, DRAW)}
EMBEDDINGS, OWN, COMMON = drawn(3, HIDDEN), drawn(HIDDEN), drawn(HIDDEN)
X, Y = drawn(4, WIDTH), torch.tensor([2, 0, 2, 1])
BATCH = Batch(X, Y, torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0], dtype=torch.float64))
LAM, MU, LR = (torch.tensor(value, dtype=torch.float64) for value in (0.4, 0.1, 0.2))


def test_modules_begin_as_the_paper_says() -> None:
    made = modules(7, 100, torch.float32, torch.Generator().manual_seed(1))
    assert made[CLASSES].shape == (7, 100)
    assert float(made[CLASSES].std()) == pytest.approx(1, rel=0.1)
    for part in ("scale", "shift"):
        weight = made[f"{BESIDE}{part}.weight"]
        assert weight.shape == (100, 100)
        assert float(weight.abs().max()) <= 0.1
        assert made[f"{BESIDE}{part}.norm.weight"].unique().tolist() == [1]
    assert not torch.equal(made[BESIDE + "scale.weight"], made[BESIDE + "shift.weight"])
    assert without({**MODEL.initial, **made}, BESIDE).keys() == MODEL.initial.keys()


def valve(part, condition):
    a = torch.relu(W[f"{BESIDE}{part}.weight"] @ condition + W[f"{BESIDE}{part}.bias"])
    return (a - a.mean()) / (a.var(unbiased=False) + 1e-5).sqrt()


def test_features_are_scaled_then_shifted() -> None:
    found = drawn(4, HIDDEN)
    expected = torch.relu((valve("scale", OWN) + 1) * found + valve("shift", OWN))
    torch.testing.assert_close(moved(W, found, OWN), expected)
    assert not torch.allclose(moved(W, found, COMMON), expected)


def test_the_objective_of_real_rows() -> None:
    h = torch.relu(X @ W["hidden.weight"].T + W["hidden.bias"])[:3]
    y = Y[:3]
    logits = moved(W, h, OWN) @ W["out.weight"].T + W["out.bias"]
    guided = moved(W, h, COMMON)
    cosines = functional.cosine_similarity(guided[:, None], W[CLASSES][None], dim=2)
    apart = (guided - EMBEDDINGS[y]).norm(dim=1).mean()
    squares = sum((value**2).sum() for name, value in W.items() if name.startswith(BESIDE))
    expected = (
        functional.cross_entropy(logits, y)
        + functional.cross_entropy(cosines, y)
        + 0.4 * apart
        + 0.05 * squares
    )
    found = objective(W, MODEL, BATCH, EMBEDDINGS, OWN, COMMON, LAM, MU)
    torch.testing.assert_close(found, expected)


def test_a_step_descends_and_leaves_what_was_received() -> None:
    before = EMBEDDINGS.clone()
    leaves = {name: value.clone().requires_grad_() for name, value in W.items()}
    loss = objective(leaves, MODEL, BATCH, EMBEDDINGS, OWN, COMMON, LAM, MU)
    after = guided_step(MODEL, W, BATCH, EMBEDDINGS, OWN, COMMON, LAM, MU, LR)
    for (name, value), slope in zip(W.items(), torch.autograd.grad(loss, list(leaves.values()))):
        torch.testing.assert_close(after[name], value - 0.2 * slope)
    assert torch.equal(before, EMBEDDINGS)
