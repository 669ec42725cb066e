"""Max pools in code of our own: torch's bits, whatever the width and the ties."""

import pytest
import torch
from torch.func import grad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import max_pool2d

from fedkin.runtime.operators import with_own
from fedkin.runtime.rewriting import FEW
from tests.runtime.own_operators import NEEDED, operators, several

pytestmark = NEEDED


def pooled(x, slope):
    """A pool, and what a slope at its end is at its beginning."""

    def along(x):
        return (max_pool2d(x, 2) * slope).sum()

    return max_pool2d(x, 2), grad(along)(x)


def case(*shape):
    x = torch.randn(shape).relu()  # zeros are ties
    return x, torch.randn(*shape[:-2], shape[-2] // 2, shape[-1] // 2)


# a vector is 16 numbers: less, as many, and more; an odd side; a lone window
SHAPES = [(2, 3, 4, 10), (2, 3, 6, 32), (2, 3, 4, 70), (2, 3, 5, 7), (1, 1, 2, 2), (3, 8, 9)]


def strange():
    """Ties, and numbers that are none."""
    x, slope = case(1, 2, 4, 8)
    x[0, 0, :2, :4] = float("nan")  # of several the last one, as torch
    x[0, 0, 2, 0] = float("nan")
    x[0, 0, 2, 2] = float("-inf")
    x[0, 1] = 1.0
    return x, slope


@pytest.mark.rotating
def test_the_bits_of_torchs():
    """A width that leaves some over, an odd side: the compiler takes seconds for each."""
    equal([case(*SHAPES[2]), case(*SHAPES[3]), strange()])


@pytest.mark.slow
def test_the_bits_of_torchs_whatever_the_width():
    equal([*(case(*shape) for shape in SHAPES), strange()])


def equal(given):
    for found, expected in zip(*several((pooled, *leaves) for leaves in given), strict=True):
        assert torch.equal(found.isnan(), expected.isnan())
        assert torch.equal(found.nan_to_num(7), expected.nan_to_num(7))


def test_every_pool_of_a_step_is_ours():
    made = with_own(make_fx(lambda x, slope: pooled(x, slope)[1])(*case(2, 3, 8, 8)))
    assert {"small_pool", "small_pool_back"} < set(operators(made))
    assert not any("max_pool2d" in name for name in operators(made))


def test_the_same_without_a_compiler():
    """What stands for them in Python, by which Inductor learns their shapes."""
    for shape in SHAPES:
        given = case(*shape)
        graph = with_own(make_fx(pooled)(*given))
        assert "small_pool_back" in operators(graph)
        for found, expected in zip(graph(*given), pooled(*given), strict=True):
            assert torch.equal(found, expected)


def three(x):
    return max_pool2d(x, 3)


def overlapping(x):
    return max_pool2d(x, 2, stride=1)


def padded(x):
    return max_pool2d(x, 2, padding=1)


def dilated(x):
    return max_pool2d(x, 2, dilation=2)


def rounded_up(x):
    return max_pool2d(x, 2, ceil_mode=True)


def places(x):
    return max_pool2d(x, 2, return_indices=True)[1] * 2


@pytest.mark.parametrize("other", [three, overlapping, padded, dilated, rounded_up, places])
def test_any_other_pool_stays(other):
    graph = with_own(make_fx(other)(torch.randn(2, 3, 7, 7)))
    assert "max_pool2d_with_indices" in operators(graph)
    assert not {"small_pool", "small_pool_back"} & set(operators(graph))


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(2, 3, 8, 8).double(),
        torch.randn(2, 3, 8, 8).mT,
        torch.randn(2, 8, 8, 3).movedim(-1, 1),
        torch.randn(2, FEW, 8, 8),
    ],
    ids=["double", "by columns", "channels last", "many channels"],
)
def test_other_numbers_stay(x):
    graph = with_own(make_fx(lambda x: max_pool2d(x, 2))(x))
    assert operators(graph) == ["max_pool2d_with_indices"]
