"""FedCP's policy beside the same written out by hand."""

import pytest
import torch

from fedkin.core.model import Batch, head_of
from fedkin.methods.parts.conditional_policy import (
    POLICY,
    direction,
    discrepancy,
    network,
    objective,
    policy,
    separated,
    separated_step,
)
from tests.methods.federation import HIDDEN, WIDTH, architecture

DRAW = torch.Generator().manual_seed(8)


def drawn(*shape):
    return torch.randn(*shape, generator=DRAW, dtype=torch.float64)


MODEL = architecture("dnn")
RECEIVED = {name: value + 0.3 * drawn(*value.shape) for name, value in MODEL.initial.items()}
W = {**MODEL.initial, **network(HIDDEN, torch.float64, DRAW)}
TOWARD = torch.nn.functional.normalize(drawn(HIDDEN), dim=0)
X, Y = drawn(4, WIDTH), torch.tensor([2, 0, 1, 0])
BATCH = Batch(X, Y, torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0], dtype=torch.float64))
LAM = torch.tensor(0.8, dtype=torch.float64)


def test_a_network_is_uniform_within_its_root_and_normalizes_plainly() -> None:
    made = network(400, torch.float32, torch.Generator().manual_seed(1))
    assert {name: tuple(value.shape) for name, value in made.items()} == {
        POLICY + "weight": (800, 400),
        POLICY + "bias": (800,),
        POLICY + "norm.weight": (800,),
        POLICY + "norm.bias": (800,),
    }
    weight = made[POLICY + "weight"]
    assert float(weight.abs().max()) <= 0.05
    assert float(weight.std()) == pytest.approx(0.05 / 3**0.5, rel=0.01)
    assert made[POLICY + "norm.weight"].unique().tolist() == [1]
    assert weight.dtype == torch.float32
    again = network(400, torch.float32, torch.Generator().manual_seed(1))
    assert torch.equal(weight, again[POLICY + "weight"])


def test_personal_and_global_shares_are_one() -> None:
    found = drawn(6, HIDDEN)
    share = policy(W, found, TOWARD)
    assert share.shape == (6, HIDDEN)
    assert 0 < float(share.min()) < float(share.max()) < 1
    same = {**RECEIVED, **{name: W[name] for name in ("out.weight", "out.bias")}}
    told = separated(MODEL, W, same, found, TOWARD)  # equal heads: the features are whole again
    plain = head_of(MODEL).scores(W, found)
    torch.testing.assert_close(told, plain + W["out.bias"])  # each head has its bias


def test_separated_features_go_to_their_heads() -> None:
    found = drawn(6, HIDDEN)
    r = policy(W, found, TOWARD)
    personal = (r * found) @ W["out.weight"].T + W["out.bias"]
    common = ((1 - r) * found) @ RECEIVED["out.weight"].T + RECEIVED["out.bias"]
    torch.testing.assert_close(separated(MODEL, W, RECEIVED, found, TOWARD), personal + common)


def test_the_direction_is_the_sum_over_classes() -> None:
    rows = W["out.weight"].sum(0)
    torch.testing.assert_close(direction(W, head_of(MODEL)), rows / rows.norm())
    nothing = {**W, "out.weight": torch.zeros_like(W["out.weight"])}
    assert not direction(nothing, head_of(MODEL)).any()


def test_padding_is_no_sample() -> None:
    a, b = drawn(4, HIDDEN), drawn(4, HIDDEN)
    third = torch.full((3,), 1 / 3, dtype=torch.float64)
    whole = discrepancy(a[:3], b[:3], third)
    torch.testing.assert_close(discrepancy(a, b, BATCH.weight), whole)
    assert float(whole) > 0
    assert float(discrepancy(a, a, BATCH.weight)) == pytest.approx(0, abs=1e-12)


def test_a_step_leaves_what_was_received() -> None:
    before = {name: value.clone() for name, value in RECEIVED.items()}
    after = separated_step(MODEL, W, BATCH, RECEIVED, TOWARD, LAM, torch.tensor(0.1).double())
    leaves = {name: value.clone().requires_grad_() for name, value in W.items()}
    loss = objective(leaves, MODEL, BATCH, RECEIVED, TOWARD, LAM)
    for (name, value), slope in zip(W.items(), torch.autograd.grad(loss, list(leaves.values()))):
        torch.testing.assert_close(after[name], value - 0.1 * slope)
    for name, value in before.items():
        assert torch.equal(RECEIVED[name], value)


def test_lambda_pulls_the_extractor_alone() -> None:
    def slopes(lam):
        leaves = {name: value.clone().requires_grad_() for name, value in W.items()}
        loss = objective(leaves, MODEL, BATCH, RECEIVED, TOWARD, torch.tensor(lam).double())
        return dict(zip(W, torch.autograd.grad(loss, list(leaves.values()))))

    with_pull, without = slopes(5.0), slopes(0.0)
    moved = {name for name in W if not torch.allclose(with_pull[name], without[name])}
    assert moved == {"hidden.weight", "hidden.bias"}
