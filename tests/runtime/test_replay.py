"""Several steps in one call of compiled code: the same states as one at a time, whatever is left
over.
"""

import pytest
import torch
from torch import nn

from fedkin.core.model import Batch, from_module
from fedkin.core.ops import Batches, scan
from fedkin.methods.fedavg import sgd_step
from fedkin.runtime import replay
from fedkin.runtime.replay import Runtime

ROWS = 6


def linear():
    torch.manual_seed(0)
    return from_module("linear", nn.Linear(5, 3))


def stacked(steps):
    """Batches of six rows, one a step."""
    rng = torch.Generator().manual_seed(steps)
    x, y = (
        torch.rand(steps, ROWS, 5, generator=rng),
        torch.randint(0, 3, (steps, ROWS), generator=rng),
    )
    return Batch(x, y, torch.full((steps, ROWS), 1 / ROWS))


def over(runtime, model, steps, step=sgd_step, carry=None, chunk=64):
    data = stacked(steps)
    batches = Batches(
        runtime, model, steps, lambda a, b: Batch(*(leaf[a:b] for leaf in data)), chunk
    )
    return scan(step, model.initial if carry is None else carry, batches, 0.1)


class Noting(Runtime):
    """Notes the sizes of the blocks that are compiled."""

    def __init__(self, mode="always"):
        super().__init__(mode)
        self.compiled = []

    def _compiled(self, name, record, inputs):
        self.compiled.append(inputs[2].shape[0] if inputs[2].dim() == 3 else 1)
        return record().forward


@pytest.mark.rotating
@pytest.mark.parametrize(("steps", "made"), [(3, [1]), (8, [8]), (11, [8, 1]), (70, [8, 1])])
def test_blocks_and_what_is_left_over(steps, made):
    model, runtime = linear(), Noting()
    found, expected = over(runtime, model, steps), over(Runtime("never"), model, steps)
    assert runtime.compiled == made  # nothing that is not called is compiled
    for name, value in expected.items():
        assert torch.allclose(found[name], value, atol=1e-6)


def test_one_runtime_serves_clients_of_all_sizes():
    model, runtime = linear(), Noting()
    for steps in (20, 3, 8, 64, 5):
        over(runtime, model, steps)
    assert runtime.compiled == [8, 1]


def test_long_steps_are_compiled_alone(monkeypatch):
    monkeypatch.setattr(replay, "LARGEST", 24)  # the step has 25 operations
    runtime = Noting()
    over(runtime, linear(), 11)
    assert runtime.compiled == [1]


def test_steps_that_convolve_are_compiled_alone():
    torch.manual_seed(0)
    model = from_module(
        "conv", nn.Sequential(nn.Unflatten(1, (1, 5)), nn.Conv1d(1, 1, 3), nn.Flatten())
    )
    runtime = Noting()
    over(runtime, model, 11)
    assert runtime.compiled == [1]


def heavy_ball(model, carry, batch, rate):
    """Its velocity is the transpose of what a product leaves in memory."""
    w, velocity = carry
    velocity = 0.9 * velocity + (batch.x.T @ nn.functional.one_hot(batch.y, 3).float()).T
    return {**w, "weight": w["weight"] - rate * velocity}, velocity.T.contiguous().T


@pytest.mark.parametrize("mode", ["trace", "always"])
def test_results_that_lie_otherwise_in_memory(mode):
    model = linear()
    carry = (model.initial, torch.zeros(5, 3).T)
    found, expected = (over(Runtime(one), model, 11, heavy_ball, carry) for one in (mode, "never"))
    for a, b in ((found[0]["weight"], expected[0]["weight"]), (found[1], expected[1])):
        assert torch.allclose(a, b, atol=1e-4)


def test_compiled_blocks_are_the_steps():
    model, runtime = linear(), Runtime("always")
    found, expected = over(runtime, model, 21), over(Runtime("never"), model, 21)
    assert runtime.said == []
    for name, value in expected.items():
        assert torch.allclose(found[name], value, atol=1e-6)


class Tempered(nn.Linear):
    """A learned number without axes, as the rate is one."""

    def __init__(self):
        torch.manual_seed(0)
        super().__init__(5, 3)
        self.temperature = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return super().forward(x) * self.temperature


@pytest.mark.parametrize("mode", ["trace", pytest.param("always", marks=pytest.mark.slow), "never"])
def test_a_parameter_without_axes_keeps_its_dtype(mode):
    model = from_module("tempered", Tempered())
    found, plain = over(Runtime(mode), model, 11), over(Runtime("never"), model, 11)
    assert {value.dtype for value in found.values()} == {torch.float32}
    assert found["temperature"] != 1.5
    for name, value in plain.items():
        assert torch.allclose(found[name], value, atol=1e-5)
