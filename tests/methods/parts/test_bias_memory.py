"""FedDBE's step beside the same written out by hand."""

import pytest
import torch

from fedkin.core.model import Batch, head_of
from fedkin.methods.parts.bias_memory import MEMORY, bias, objective, regularized_step
from tests.methods.federation import HIDDEN, WIDTH, architecture

DRAW = torch.Generator().manual_seed(2)


def drawn(*shape):
    return torch.randn(*shape, generator=DRAW, dtype=torch.float64)


MODEL = architecture("dnn")
X, Y = drawn(4, WIDTH), torch.tensor([2, 0, 1, 0])
BATCH = Batch(X, Y, torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0], dtype=torch.float64))
MEAN, GOAL, MEMORIES = drawn(HIDDEN), drawn(HIDDEN), drawn(HIDDEN)
KAPPA, MU, LR = (torch.tensor(value, dtype=torch.float64) for value in (2.0, 0.25, 0.1))


def by_hand(both):
    """The loss of the three real rows, and κ times the mean square of what the mean lacks."""
    z = torch.relu(X @ both["hidden.weight"].T + both["hidden.bias"])
    logits = (z + both[MEMORY]) @ both["out.weight"].T + both["out.bias"]
    loss = torch.nn.functional.cross_entropy(logits[:3], Y[:3])
    after = (1 - MU) * MEAN + MU * z[:3].mean(0)
    return loss + KAPPA * ((after - GOAL) ** 2).mean(), after


def test_the_objective() -> None:
    both = {**MODEL.initial, MEMORY: MEMORIES}
    found = objective(both, MODEL, BATCH, MEAN, GOAL, KAPPA, MU)
    torch.testing.assert_close(found, by_hand(both)[0])


def test_a_step_moves_model_memory_and_mean() -> None:
    both = {**MODEL.initial, MEMORY: MEMORIES}
    leaves = {name: value.clone().requires_grad_() for name, value in both.items()}
    loss, mean = by_hand(leaves)
    slopes = torch.autograd.grad(loss, list(leaves.values()))
    after, found = regularized_step(MODEL, (both, MEAN), BATCH, GOAL, KAPPA, MU, LR)
    assert after.keys() == both.keys()
    for (name, value), slope in zip(both.items(), slopes):
        assert slope.abs().max() > 0, name
        torch.testing.assert_close(after[name], value - 0.1 * slope)
    torch.testing.assert_close(found, mean.detach())  # of the features before the step


def test_the_bias_of_a_head_is_not_that_of_another_layer() -> None:
    assert bias(MODEL.initial, head_of(MODEL)) == "out.bias"
    without = {name: value for name, value in MODEL.initial.items() if name != "out.bias"}
    head = head_of(MODEL)._replace(names=("out.weight",))
    with pytest.raises(StopIteration):
        bias(without, head)
