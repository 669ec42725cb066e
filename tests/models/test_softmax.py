"""Models that end in a softmax already."""

import pytest
import torch
from torch import nn

from fedkin.core.model import from_module
from fedkin.core.rng import Key
from fedkin.models.build import build
from fedkin.models.softmax import softmax_remark

MODEL = build("mlr", (4,), 3, Key(0), "categorical")
X = torch.linspace(-2, 2, 24).reshape(6, 4)


def ending_in(last):
    return MODEL._replace(outputs=lambda w, x: last(MODEL.outputs(w, x)))


def test_probabilities_are_told_and_logits_are_not() -> None:
    assert "ends in a softmax" in softmax_remark(ending_in(lambda out: out.softmax(1)), X)
    assert softmax_remark(MODEL, X) == ""


@pytest.mark.parametrize(
    "last",
    [lambda out: out.log_softmax(1), lambda out: out.sigmoid(), lambda out: out.softmax(1)[:, :1]],
)
def test_what_only_looks_like_it(last) -> None:
    assert softmax_remark(ending_in(last), X) == ""
    assert softmax_remark(ending_in(lambda out: out.softmax(1)), X[:0]) == ""


class Twice(nn.Sequential):
    """A module whose author put the softmax in."""

    def __init__(self, classes: int, last: type[nn.Module] = nn.Softmax) -> None:
        super().__init__(nn.Flatten(), nn.Linear(4, classes), last(1))


def test_a_module_that_its_author_ended_in_a_softmax_is_told() -> None:
    for last, told in ((nn.Softmax, True), (nn.LogSoftmax, False)):
        model = from_module("net", Twice(10, last))
        assert bool(softmax_remark(model, X)) == told
    assert softmax_remark(from_module("net", nn.Linear(4, 10)), X) == ""
