"""Grades are those of one pass over all rows, however rows are cut into blocks and whatever fills
the last one up.
"""

import math

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL, GAUSSIAN
from fedkin.core.method import plain_prediction
from fedkin.core.model import from_module
from fedkin.engine.evaluation import BLOCK, FEW, LARGE, SMALL, score
from fedkin.runtime.replay import Runtime

SIZES = [1, SMALL - 1, SMALL, SMALL + 1, FEW, FEW + 1, BLOCK, BLOCK + 1, 300, LARGE + 1]
N = 3 * LARGE


@pytest.fixture
def samples():
    torch.manual_seed(0)
    return torch.randn(N, 5), torch.randint(3, (N,))


def linear(family=CATEGORICAL, classes=3):
    torch.manual_seed(1)
    return from_module("linear", nn.Linear(5, classes), family)


def graded(model, samples, rows, runtime=None, view=None, predict=plain_prediction):
    x, y = samples
    view = model.initial if view is None else view
    return score(
        runtime or Runtime("trace"), model, view, predict, rows, lambda part: (x[part], y[part])
    )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("mode", ["trace", "never"])
def test_a_classifier(samples, n, mode):
    model, rows = linear(), torch.randperm(N)[:n]
    loss, accuracy = graded(model, samples, rows, Runtime(mode))
    x, y = samples[0][rows], samples[1][rows]
    told = torch.log_softmax(model.outputs(model.initial, x), 1)
    assert accuracy == (told.argmax(1) == y).sum().item() / n
    assert loss == pytest.approx(nn.functional.nll_loss(told, y).item(), rel=1e-5)


@pytest.mark.parametrize("n", [5, 200])
def test_a_regression_has_no_accuracy(samples, n):
    model, rows = linear(GAUSSIAN, 1), torch.arange(n)
    loss, accuracy = graded(model, samples, rows)
    x, y = samples[0][rows], samples[1][rows]
    expected = 0.5 * (model.outputs(model.initial, x)[:, 0] - y).square().mean()
    assert math.isnan(accuracy)
    assert loss == pytest.approx(expected.item(), rel=1e-5)


def test_nobody_has_no_grade(samples):
    assert all(map(math.isnan, graded(linear(), samples, torch.arange(0))))


def test_an_infinite_loss_stays_one(samples):
    """The rows that fill a block up are copies of one that may have it: 0 times infinity would be
    no number.
    """
    model = linear()
    view = {**model.initial, "bias": torch.tensor([0.0, -1e38, -1e38]) * 1e3}
    x, _ = samples
    loss, _ = graded(model, (x, torch.ones(N, dtype=torch.int64)), torch.arange(5), view=view)
    assert loss == math.inf


@pytest.mark.parametrize("pads", [True, False])
def test_a_model_that_diverged_is_right_about_nothing(samples, pads):
    """argmax of a row of NaN is 0: all of these samples are of class 0."""
    model = linear()._replace(pads=pads)
    view = {**model.initial, "bias": torch.full((3,), math.nan)}
    nought = samples[0], torch.zeros(N, dtype=torch.int64)
    for n in (5, 300):
        loss, accuracy = graded(model, nought, torch.arange(n), view=view)
        assert math.isnan(loss)
        assert accuracy == 0.0


def test_however_many_sizes_there_are_two_graphs_serve(samples):
    runtime, model = Runtime("trace"), linear()
    for n in SIZES:
        graded(model, samples, torch.arange(n), runtime)
    assert runtime.graphs == 2


def test_a_model_whose_rows_change_each_other_gets_them_all_at_once(samples):
    norm = nn.BatchNorm1d(5, track_running_stats=False)
    model = from_module("norm", nn.Sequential(norm, nn.Linear(5, 3)))
    runtime, rows = Runtime("trace"), torch.arange(20)
    loss, _ = graded(model, samples, rows, runtime)
    told = torch.log_softmax(model.outputs(model.initial, samples[0][rows]), 1)
    assert loss == pytest.approx(nn.functional.nll_loss(told, samples[1][rows]).item(), rel=1e-6)
    assert runtime.graphs == 0


def test_a_view_that_is_no_models_parameters_is_not_traced(samples):
    """Such as a memory of samples, of another size at each client: it would be a graph for each."""
    model, runtime = linear(), Runtime("trace")

    def predict(model, view, x):
        return plain_prediction(model, view["model"], x) + view["bonus"]

    view = {"model": model.initial, "bonus": torch.zeros(3)}
    found = graded(model, samples, torch.arange(70), runtime, view, predict)
    assert found == pytest.approx(graded(model, samples, torch.arange(70)))
    assert runtime.graphs == 0


def test_a_view_with_a_number_beside_parameters_keeps_it(samples):
    model = linear()

    def predict(model, view, x):
        assert isinstance(view["k"], int)
        return plain_prediction(model, {name: view[name] for name in model.initial}, x)

    found = graded(
        model, samples, torch.arange(70), view={**model.initial, "k": 2}, predict=predict
    )
    assert found == pytest.approx(graded(model, samples, torch.arange(70)))


def test_several_labels_a_sample_are_refused(samples):
    x, y = samples
    with pytest.raises(FedkinError, match="a sample has one label"):
        graded(linear(GAUSSIAN, 1), (x, y[:, None].expand(N, SMALL)), torch.arange(10))
