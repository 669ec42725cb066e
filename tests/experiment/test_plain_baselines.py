"""The most frequent class, the mean, and own linear models, against scikit-learn's."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, root_mean_squared_error
from sklearn.preprocessing import StandardScaler

from fedkin.cli.talk.closing import _results
from fedkin.data.population import Population
from fedkin.engine.measures import Predicted, threshold
from fedkin.experiment import plain_baselines as plain
from fedkin.experiment.plain_baselines import plain_baselines
from fedkin.experiment.run import experiment, run
from fedkin.report.formatting import percent_or_dash
from fedkin.report.summary import summary


def population(y: np.ndarray, x: np.ndarray, classes: int) -> Population:
    """Three clients of unequal sizes, each with train, val and test rows."""
    cuts = [(0, 40, 52, 70), (70, 90, 96, 110), (110, 170, 180, 200)]
    parts = [[np.arange(a, b) for a, b in pairwise(cut)] for cut in cuts]
    train, val, test = (tuple(rows) for rows in zip(*parts, strict=True))
    labels = torch.tensor(y) if classes else torch.tensor(y, dtype=torch.float32)
    task = "classification" if classes else "regression"
    samples, names = torch.tensor(x, dtype=torch.float32), ("a", "b", "c")
    return Population("made", samples, labels, classes, task, train, val, test, names=names)


def test_they_are_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, 2.0, size=(200, 5)).astype(np.float32)
    x[:, 4] = 7.0  # says nothing, and has no deviation
    y = (x @ [1.0, -2.0, 0.5, 0.0, 0.0] + rng.normal(size=200)).astype(np.float32)
    made = population(y, x, 0)
    found = plain_baselines(made, "rmse", "gaussian")
    for k in range(3):
        train, val, test = made.train[k], made.val[k], made.test[k]
        mean = DummyRegressor().fit(x[train], y[train]).predict(x[test])
        assert found["constant"][str(k)] == pytest.approx(root_mean_squared_error(y[test], mean))
        scaler = StandardScaler().fit(x[train].astype(float))
        own, held, wanted = (scaler.transform(x[part].astype(float)) for part in (train, val, test))
        models = [Ridge(alpha=pull).fit(own, y[train]) for pull in plain.PULLS]
        best = min(models, key=lambda m: root_mean_squared_error(y[val], m.predict(held)))
        expected = root_mean_squared_error(y[test], best.predict(wanted))
        assert found["linear"][str(k)] == pytest.approx(expected, rel=1e-5)
        assert found["linear"][str(k)] < found["constant"][str(k)]


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_a_linear_model_does_not_depend_on_the_unit_of_the_numbers(unit: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4))
    x[:, 3] = 0.1  # has no deviation, but for rounding
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    one, other = (
        plain_baselines(population(y, x * scale, 2), "accuracy", "categorical")
        for scale in (1.0, unit)
    )
    assert min(one["linear"].values()) > 0.8
    assert other == one


def test_the_threshold_of_two_classes_is_that_of_validation_rows() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = (x[:, 0] + rng.normal(size=200) > 1.5).astype(np.int64)  # few are of class 1
    y[[40, 91, 171]], y[[52, 96, 180]] = 1, 1  # some in every validation and test set
    made = population(y, x, 2)
    found = plain_baselines(made, "sensitivity", "categorical")["linear"]
    for k in range(3):
        held, scores = plain._ridge(made, k)
        cut = threshold(Predicted(plain._shares(held), y[made.val[k]]))
        above = plain._shares(scores)[:, 1] >= cut
        assert found[str(k)] == pytest.approx(above[y[made.test[k]] == 1].mean())
    assert max(found.values()) > 0


def test_of_classes_it_is_the_most_frequent_one() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = np.where(x[:, 0] > 0.3, 2, np.where(x[:, 1] > 1, 1, 0))
    y[110:] = 1  # the third client has one class
    made = population(y, x, 4)
    found = plain_baselines(made, "accuracy", "categorical")
    for k in range(3):
        dummy = DummyClassifier().fit(x[made.train[k]], y[made.train[k]])
        expected = accuracy_score(y[made.test[k]], dummy.predict(x[made.test[k]]))
        assert found["constant"][str(k)] == expected
    assert found["linear"]["0"] > found["constant"]["0"]
    assert found["linear"]["2"] == 1.0
    assert set(plain_baselines(made, "auc", "categorical")["constant"]) == {"0", "1"}


def test_large_data_have_linear_models_for_some_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    made = population(rng.integers(0, 2, 200), rng.normal(size=(200, 3)), 2)
    monkeypatch.setattr(plain, "WORK", 700.0)  # of 1,080
    found = plain_baselines(made, "accuracy", "categorical")
    assert list(found["linear"]) == ["0"]
    assert len(found["constant"]) == 3
    monkeypatch.setattr(plain, "WORK", 10.0)
    assert "linear" not in plain_baselines(made, "accuracy", "categorical")


def test_they_stand_beside_a_runs_numbers(tmp_path: Path) -> None:
    settings = {"method__name": "fedavg", "model__name": "mlr", "engine__name": "inprocess"}
    spec = experiment(**settings, run__rounds=1, run__clients=3)
    found = summary(run(spec, tmp_path / "run"))
    assert set(found["baselines"]) == {"constant", "linear"}
    linear = found["baselines"]["linear"]
    assert linear["mean"] > found["baselines"]["constant"]["mean"]
    assert linear["interval"][0] <= linear["mean"] <= linear["interval"][1]
    shown = [line for line in _results(found) if line.startswith("baselines")]
    assert percent_or_dash(linear["mean"]) in shown[0]


def test_a_vocabulary_takes_no_square_of_its_symbols() -> None:
    rng = np.random.default_rng(1)
    made = population(rng.integers(0, 9000, 200), rng.normal(size=(200, 3)), 9000)
    made = replace(made, x=torch.from_numpy(rng.integers(0, 9000, (200, 3))))  # tokens
    tracemalloc.start()
    try:
        found = plain_baselines(made, "accuracy", "categorical")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert set(found["constant"]) == {"0", "1", "2"}
    assert peak < 100_000_000
