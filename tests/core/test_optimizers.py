"""Each optimizer against torch.optim, step by step, however steps are made; and whose state is
whose.
"""

import pytest
import torch
from torch import nn

from fedkin.core.family import CATEGORICAL
from fedkin.core.model import Batch, from_module
from fedkin.core.ops import Batches, descend, gradient, scan
from fedkin.core.optimizers import PLAIN, Optimizer, remembering
from fedkin.methods.fedavg import sgd_step
from fedkin.runtime.replay import Runtime

STEPS, RATE = 7, 0.3
CASES = {
    "momentum": (
        Optimizer(momentum=0.9, weight_decay=0.05),
        lambda of: torch.optim.SGD(of, RATE, momentum=0.9, weight_decay=0.05),
    ),
    "nesterov": (
        Optimizer(momentum=0.7, nesterov=True, clip=0.2),
        lambda of: torch.optim.SGD(of, RATE, momentum=0.7, nesterov=True),
    ),
    "decay of weights": (
        Optimizer(weight_decay=0.3, decay_biases=False),
        lambda of: torch.optim.SGD(
            [{"params": [of[0]], "weight_decay": 0.3}, {"params": of[1:]}], RATE
        ),
    ),
    "adam": (
        Optimizer("adam", betas=(0.8, 0.95), eps=1e-3, weight_decay=0.05),
        lambda of: torch.optim.Adam(of, RATE, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.05),
    ),
    "adamw": (
        Optimizer("adamw", weight_decay=0.2, clip=0.5),
        lambda of: torch.optim.AdamW(of, RATE, weight_decay=0.2),
    ),
}


def rows():
    """[steps, batch, 4] and labels: gradients of different sizes from step to step."""
    drawn = torch.Generator().manual_seed(3)
    x = torch.randn(STEPS, 5, 4, generator=drawn, dtype=torch.float64)
    return x * torch.linspace(0.1, 3, STEPS)[:, None, None], torch.randint(
        3, (STEPS, 5), generator=drawn
    )


def linear():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return nn.Linear(4, 3).to(torch.float64)


def batches(optimizer, mode="never", model=None):
    x, y = rows()

    def gather(first, last):
        return Batch(
            x[first:last], y[first:last], torch.full((last - first, 5), 0.2, dtype=x.dtype)
        )

    model = model or from_module("linear", linear(), CATEGORICAL)
    return Batches(Runtime(mode), model, STEPS, gather, chunk=3, optimizer=optimizer)


@pytest.mark.parametrize("mode", ["never", "trace", pytest.param("always", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_as_torch(case, mode):
    optimizer, theirs = CASES[case]
    module = linear()
    made = theirs(list(module.parameters()))
    x, y = rows()
    walk = batches(optimizer, mode)
    for step in range(STEPS):
        made.zero_grad()
        nn.functional.cross_entropy(module(x[step]), y[step]).backward()
        if optimizer.clip:
            nn.utils.clip_grad_norm_(module.parameters(), optimizer.clip)
        made.step()
        ours = scan(sgd_step, walk.model.initial, walk._replace(steps=step + 1), RATE)
        for name, value in module.named_parameters():
            torch.testing.assert_close(ours[name], value.detach(), rtol=1e-12, atol=1e-12)


def two_step(model, both, batch, rate):
    """Two variables: the first moves twice, the second once."""
    first, second = both
    for _ in range(2):
        first = descend(first, gradient(model.loss)(first, batch), rate)
    return first, descend(second, gradient(model.loss)(second, batch), rate, "second")


def test_each_variable_has_its_own_state_and_descents_of_one_share_theirs():
    optimizer = Optimizer(momentum=0.9)
    walk = batches(optimizer)
    w = walk.model.initial
    first, second = scan(two_step, (w, w), walk, RATE)
    alone = scan(sgd_step, w, walk, RATE)
    assert torch.equal(second["weight"], alone["weight"])
    twice = walk._replace(
        steps=2 * STEPS,
        gather=lambda a, b: walk.gather(a // 2, a // 2 + 1),
        chunk=1,
    )
    torch.testing.assert_close(first, scan(sgd_step, w, twice, RATE), rtol=1e-12, atol=1e-12)


def test_running_statistics_are_refreshed_not_descended():
    module = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3)).to(torch.float64)
    model = from_module("normed", module, CATEGORICAL)
    kept = {
        name: scan(sgd_step, model.initial, batches(optimizer, "trace", model), 0.0)
        for name, optimizer in (("plain", PLAIN), ("adam", Optimizer("adam", weight_decay=0.5)))
    }
    assert any(name.startswith("buffer:") for name in kept["plain"])
    for name, value in kept["plain"].items():
        assert torch.equal(value, kept["adam"][name]), name


def test_a_step_that_descends_nothing_runs_as_it_is():
    walk = batches(Optimizer("adam"))
    assert scan(lambda model, carry, batch: carry + 1, 0.0, walk) == STEPS


def test_what_is_remembered_goes_on_and_what_has_another_shape_begins_anew():
    walk = batches(Optimizer(momentum=0.9))
    half = walk._replace(steps=3)
    rest = walk._replace(steps=STEPS - 3, gather=lambda a, b: walk.gather(a + 3, b + 3))
    whole = scan(sgd_step, walk.model.initial, walk, RATE)
    with remembering({}) as memory:
        w = scan(sgd_step, walk.model.initial, half, RATE)
    with remembering(memory.after):
        torch.testing.assert_close(scan(sgd_step, w, rest, RATE), whole, rtol=1e-12, atol=1e-12)
    anew = scan(sgd_step, w, rest, RATE)
    assert not torch.allclose(anew["weight"], whole["weight"])
    strange = {walk: {"w": {"momentum": {"weight": torch.ones(2)}}} for walk in memory.after}
    with remembering(strange):
        assert torch.equal(scan(sgd_step, w, rest, RATE)["weight"], anew["weight"])
