"""An update inside the product of its gradient: the same numbers, and only where nothing else needs
the gradient.
"""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fedkin.runtime.fuse import fused_updates

aten = torch.ops.aten
W, A, B = torch.randn(7, 5), torch.randn(7, 3), torch.randn(3, 5)
RATE = torch.tensor(0.1, dtype=torch.float64)


def targets(graph):
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def both(function, *inputs):
    """The operations before and after, where the results are the same."""
    recorded = make_fx(function)(*inputs)
    before = targets(recorded)
    fused = fused_updates(recorded)
    assert targets(recorded) == before  # it stays as it is
    for found, expected in zip(fused(*inputs), recorded(*inputs), strict=True):
        assert found.dtype == expected.dtype
        assert torch.allclose(found, expected, atol=1e-6)
    return before, targets(fused)


@pytest.mark.parametrize(
    "update",
    [
        lambda w, a, b, rate: (w - rate * (a @ b),),
        lambda w, a, b, rate: (w - (a @ b) * rate,),
        lambda w, a, b, rate: (w - rate * (b.t() @ a.t()).t().t().t(),),  # flipped once in the end
        lambda w, a, b, rate: (w - rate * (a @ b).t().t(),),
    ],
)
def test_an_update_is_one_product(update):
    before, after = both(update, W, A, B, RATE)
    flipped = before.count(aten.t.default) % 2
    assert (aten.addmm.default in after) == (not flipped)
    assert (aten.mm.default in after) == bool(flipped)


def test_two_steps_follow_each_other():
    def steps(w, a, b, rate):
        first = w - rate * (a @ b)
        return (first - rate * ((a + first.sum()) @ b),)

    _, after = both(steps, W, A, B, RATE)
    assert after.count(aten.addmm.default) == 2
    assert aten.mm.default not in after


@pytest.mark.parametrize(
    "other",
    [
        lambda w, a, b, rate: (w - rate * (slope := a @ b), slope),  # the gradient is needed
        lambda w, a, b, rate: (rate * (a @ b) - w,),  # the other way round
        lambda w, a, b, rate: (w[0] - rate * (a @ b),),  # w is broadcast
        lambda w, a, b, rate: (w.double() - rate * (a @ b),),  # of another kind
        lambda w, a, b, rate: (w - rate.expand(5) * (a @ b),),  # one rate a column
        lambda w, a, b, rate: (torch.sub(w, rate * (a @ b), alpha=2),),
    ],
)
def test_anything_else_stays(other):
    before, after = both(other, W, A, B, RATE)
    assert after == before
