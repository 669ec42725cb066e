"""Convolutions of few channels in code of our own: torch's numbers, whatever is left over."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import conv2d

from fedkin.runtime.operators import with_own
from fedkin.runtime.rewriting import FEW
from fedkin.runtime.small_conv import LARGEST, LEAST
from tests.runtime.own_operators import NEEDED, operators, several

pytestmark = NEEDED


def forward(x, w, bias):
    return conv2d(x, w, bias)


def by_all(x, w, bias, slope):
    """Something is done with each gradient, as a step does."""

    def along(x, *own):
        return (conv2d(x, *own) * slope).sum()

    return tuple(2 * part for part in torch.func.grad(along, (0, 1, 2))(x, w, bias))


def by_weights(x, w, bias, slope):
    return torch.func.grad(lambda *own: (conv2d(x, *own) * slope).sum(), (0, 1))(w, bias)


def case(pictures, into, out, side, kernel):
    tall, wide = kernel
    x, w, bias = (
        torch.randn(pictures, into, *side),
        torch.randn(out, into, tall, wide),
        torch.randn(out),
    )
    return x, w, bias, torch.randn(pictures, out, side[0] - tall + 1, side[1] - wide + 1)


# whole vectors of pictures, and some left over; channels and columns that make no whole blocks;
# kernels that are not square, as wide as the picture, or one number
CASES = [
    (32, 3, 6, (12, 12), (5, 5)),
    (20, 6, 16, (9, 14), (5, 5)),
    (17, 1, 7, (8, 9), (3, 2)),
    (8, 2, 1, (6, 11), (2, 6)),
    (16, 5, 4, (5, 5), (1, 1)),
    (9, 2, 3, (7, 7), (7, 7)),
]


def strange():
    """Numbers that are none."""
    x, w, bias, slope = case(16, 2, 3, (6, 6), (3, 3))
    x[4, 1, 0, 0] = float("nan")
    slope[5, 0, 0, 0] = float("inf")
    return x, w, bias, slope


def by_channels():
    """A kernel of one number has its channels side by side, whatever its steps are called."""
    x, w, bias, slope = case(16, 3, 6, (8, 8), (1, 1))
    return x, w.to(memory_format=torch.channels_last), bias, slope


@pytest.mark.rotating
def test_the_numbers_of_torchs():
    """The cases that differ most: the compiler takes a second for each."""
    close([case(*CASES[1]), case(*CASES[2]), strange(), by_channels()])


@pytest.mark.slow
def test_the_numbers_of_torchs_in_every_case():
    close([*(case(*shape) for shape in CASES), strange(), by_channels()])


def close(given):
    cases = [(forward, *leaves[:3]) for leaves in given]
    cases += [(by_all, *leaves) for leaves in given]
    cases += [(by_weights, *leaves) for leaves in given if len(leaves[1]) < FEW]
    found, expected = several(cases)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-3, equal_nan=True)


def test_the_convolutions_of_a_step_are_ours():
    given = case(16, 3, 6, (8, 8), (3, 3))
    assert operators(with_own(make_fx(forward)(*given[:3]))) == ["small_conv"]
    names = operators(with_own(make_fx(by_weights)(*given)))
    assert "small_conv_weights" in names
    assert "convolution_backward" not in names
    names = operators(with_own(make_fx(by_all)(*given)))
    assert "small_conv_back" in names
    assert "convolution_backward" not in names


def test_the_same_without_a_compiler():
    given = case(16, 3, 6, (8, 8), (3, 3))
    for function in (by_all, by_weights):
        graph = with_own(make_fx(function)(*given))
        for found, expected in zip(graph(*given), function(*given), strict=True):
            assert torch.allclose(found, expected)


def kept(function, *given):
    names = operators(with_own(make_fx(function)(*given)))
    return not any(name.startswith("small_conv") for name in names)


@pytest.mark.parametrize(
    "options",
    [{"stride": 2}, {"padding": 1}, {"dilation": 2}, {"groups": 2}, {"bias": None}],
    ids=lambda options: next(iter(options)),
)
def test_other_convolutions_stay(options):
    x, w, bias = torch.randn(16, 4, 8, 8), torch.randn(6, 4, 3, 3), torch.randn(6)
    if "groups" in options:
        w = w[:, :2].contiguous()
    assert kept(lambda x, w, bias: conv2d(x, w, **{"bias": bias, **options}), x, w, bias)


@pytest.mark.parametrize(
    "shape",
    [
        (16, 3, FEW, (8, 8), (3, 3)),
        (LEAST - 1, 3, 6, (8, 8), (3, 3)),
        (16, 1, 2, (2, LARGEST // 2 + 1), (1, 1)),
        (16, 1, 4, (1, LARGEST // 4 + 1), (1, 1)),
        (16, 1, 15, (512, 16), (1, 16)),
    ],
    ids=["many channels", "few pictures", "large pictures", "large results", "wide kernels"],
)
def test_where_a_library_is_as_fast_it_stays(shape):
    assert kept(forward, *case(*shape)[:3])
    assert kept(by_weights, *case(*shape))


def test_channels_enough_to_and_from():
    assert not kept(by_all, *case(16, 6, FEW, (8, 8), (3, 3)))
    assert kept(by_all, *case(16, FEW, FEW, (8, 8), (3, 3)))
    assert kept(by_all, *case(16, 6, FEW + 1, (8, 8), (3, 3)))


def test_other_numbers_and_layouts_stay():
    x, w, bias, _ = case(16, 3, 6, (8, 8), (3, 3))
    assert kept(forward, x.double(), w.double(), bias.double())
    assert kept(forward, x.to(memory_format=torch.channels_last), w, bias)
    assert kept(forward, x, w.mT, bias)
