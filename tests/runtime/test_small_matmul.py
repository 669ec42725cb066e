"""Small products in code of our own: the numbers of torch's, for whatever shapes, strides and
remainders there are.
"""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fedkin.runtime.fuse import fused_updates
from fedkin.runtime.operators import with_own
from fedkin.runtime.small_matmul import LARGEST, LONGEST
from tests.runtime.own_operators import NEEDED, operators, several

pytestmark = NEEDED
RATE = torch.tensor(0.5)
# (rows, inner, columns): whole blocks of 5 × 4 · 16 and 5 × 5, one more and one less, a lone row,
# column or number
SHAPES = [
    (20, 48, 128),
    (5, 16, 64),
    (6, 17, 65),
    (4, 15, 63),
    (1, 33, 16),
    (7, 1, 81),
    (11, 100, 1),
    (1, 1, 1),
    (3, 5, 7),
]


def prepared(function, *inputs):
    return with_own(fused_updates(make_fx(function)(*inputs)))


def laid(rows, columns, transposed):
    return torch.randn(columns, rows).t() if transposed else torch.randn(rows, columns)


LAYOUTS = [(False, False), (True, False), (False, True)]  # each factor by rows and by columns


def inputs_of(shape, layout):
    rows, inner, columns = shape
    return laid(rows, inner, layout[0]), laid(inner, columns, layout[1])


def product(a, b):
    return a @ b


def update(a, b):
    return torch.ones(a.shape[0], b.shape[1]) - RATE * (a @ b)


@pytest.mark.rotating
def test_any_shape():
    """A layout each, in turn: a case takes the compiler a second."""
    cases = [
        (update, *inputs_of(shape, LAYOUTS[number % 3])) for number, shape in enumerate(SHAPES)
    ]
    close(cases)


@pytest.mark.slow
@pytest.mark.parametrize("function", [product, update])
def test_any_shape_and_layout(function):
    close([(function, *inputs_of(shape, layout)) for shape in SHAPES for layout in LAYOUTS])


def close(cases):
    for found, expected in zip(*several(cases), strict=True):
        assert found.shape == expected.shape
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.rotating
def test_stacks_of_matrices():
    def stacked(a, b):
        return torch.bmm(a, b)

    one = torch.randn(1, 6, 17)
    cases = [
        (stacked, torch.randn(3, 6, 17), torch.randn(3, 17, 65)),
        (stacked, torch.randn(3, 6, 17), torch.randn(3, 65, 17).mT),
        (stacked, torch.randn(3, 17, 6).mT, torch.randn(3, 17, 65)),
        (stacked, one.expand(3, 6, 17), torch.randn(3, 17, 5)),  # the same one each time
    ]
    for found, expected in zip(*several(cases), strict=True):
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.rotating
def test_rows_out_of_a_larger_matrix_and_not_finite_numbers():
    whole, other = torch.randn(9, 40), torch.randn(33, 70)
    other[3, 4] = float("inf")
    other[5, 6] = float("nan")
    cases = [
        (product, whole[1:7, 3:36], other),
        (product, other.t()[:, 2:30], whole.t()[4:32, :].contiguous()),
    ]
    for found, expected in zip(*several(cases), strict=True):
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-4, equal_nan=True)


def test_every_small_product_of_a_step_is_ours():
    def layer(w, bias, x):
        hidden = torch.addmm(bias, x, w.t())
        return hidden, w - RATE * (hidden.t() @ x)

    names = operators(prepared(layer, torch.randn(8, 6), torch.randn(8), torch.randn(4, 6)))
    assert names.count("small_product") == 1
    assert names.count("small_update") == 1
    assert not {"mm", "addmm"} & set(names)


@pytest.mark.parametrize(
    "inputs",
    [
        (torch.randn(4, 6).double(), torch.randn(6, 5).double()),
        (torch.randn(0, 6), torch.randn(6, 5)),
        (
            torch.randn(6, 4).t(),
            torch.randn(5, 6).t(),
        ),  # both by columns: one would have to be copied
        (torch.randn(4, 6), torch.randn(6, 10)[:, ::2]),
        (torch.randn(4, 6), torch.randn(6, 5).double().float().to_sparse()),
        (torch.empty(1, LONGEST), torch.empty(LONGEST, LARGEST // LONGEST + 1)),
        (torch.empty(1, LONGEST + 1), torch.empty(LONGEST + 1, 2)),
    ],
)
def test_any_other_product_stays(inputs):
    assert operators(prepared(lambda a, b: (a @ b,), *inputs)) == ["mm"]


def test_an_empty_stack_stays():
    assert operators(
        prepared(lambda a, b: (torch.bmm(a, b),), torch.randn(0, 4, 6), torch.randn(0, 6, 5))
    ) == ["bmm"]


@pytest.mark.parametrize(
    "w",
    [torch.randn(5), torch.randn(1, 5), torch.randn(5, 4).t()],
    ids=["a row", "one row", "by columns"],
)
def test_an_update_of_something_else_stays(w):
    def step(w, a, b):
        return (torch.addmm(w, a, b, alpha=-1),)

    assert operators(prepared(step, w, torch.randn(4, 3), torch.randn(3, 5))) == ["addmm"]


def test_other_factors_of_a_sum_stay():
    def step(w, a, b):
        return (torch.addmm(w, a, b, beta=2),)

    assert operators(prepared(step, torch.randn(4, 5), torch.randn(4, 3), torch.randn(3, 5))) == [
        "addmm"
    ]
