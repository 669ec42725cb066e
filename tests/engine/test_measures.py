"""Measures are scikit-learn's, to the last digits that matter, also where labels are few, tied, or
of one class.
"""

import math
import time
import tracemalloc

import numpy as np
import pytest
import torch
from sklearn import metrics

from fedkin.core.errors import FedkinError
from fedkin.core.family import BERNOULLI, CATEGORICAL, GAUSSIAN, POISSON
from fedkin.core.measures import (
    IN_SCORES,
    MEASURES,
    check_measure,
    chosen_for,
    kind_of,
    misleads,
    suited,
)
from fedkin.engine.measures import (
    OF,
    Predicted,
    from_scores,
    measure,
    measures,
    predicted,
    standard_error,
    threshold,
)


def probabilities(n: int, classes: int, seed: int, ties: bool = False) -> Predicted:
    """Unequal classes, probabilities that know something; with ties, few different ones."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=np.arange(classes, 0, -1) / (classes * (classes + 1) / 2))
    p = rng.dirichlet(np.ones(classes), n) + 0.6 * np.eye(classes)[y] * rng.random((n, 1))
    p = np.round(p / p.sum(1, keepdims=True), 1 if ties else 6) + 1e-3
    return Predicted(p / p.sum(1, keepdims=True), y)


@pytest.mark.parametrize(("ties", "seed"), [(False, 0), (True, 1), (True, 2)])
def test_two_classes_are_as_in_scikit_learn(ties: bool, seed: int) -> None:
    found = probabilities(53, 2, seed, ties)
    p, y, best = found.p, found.y, found.p.argmax(1)
    expected = {
        "auc": metrics.roc_auc_score(y, p[:, 1]),
        "average_precision": metrics.average_precision_score(y, p[:, 1]),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, best),
        "macro_f1": metrics.f1_score(y, best, average="macro"),
        "brier": metrics.brier_score_loss(y, p[:, 1]),
        "sensitivity": metrics.recall_score(y, p[:, 1] >= 0.5),
        "specificity": metrics.recall_score(1 - y, p[:, 1] < 0.5),
        "accuracy": metrics.accuracy_score(y, best),
        "log_loss": metrics.log_loss(y, p),
    }
    for name, value in expected.items():
        assert measure(CATEGORICAL, name, found) == pytest.approx(value, rel=1e-9), name


def test_auc_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(0)
    score, y = rng.integers(0, 5, 40) / 5 + 0.1, rng.integers(0, 2, 40)
    ones, zeros = score[y == 1], score[y == 0]
    expected = np.mean([(a > b) + 0.5 * (a == b) for a in ones for b in zeros])
    p = torch.from_numpy(score)
    predictions = torch.stack([torch.log(1 - p / 2), torch.log(p / 2)], 1)
    for family in (CATEGORICAL, BERNOULLI):
        np.testing.assert_allclose(
            measures(family, predicted(family, predictions, torch.from_numpy(y)))["auc"], expected
        )
    for label, lost in ((0, "sensitivity"), (1, "specificity")):  # nothing else is missing
        one_class = predicted(CATEGORICAL, predictions, torch.full((40,), label))
        undefined = {"auc", "average_precision", lost}
        assert {*measures(CATEGORICAL, one_class)} == {*suited("two classes")} - {
            *IN_SCORES
        } - undefined


def test_several_classes_are_as_in_scikit_learn() -> None:
    found = probabilities(97, 4, 3, ties=True)
    p, y, best = found.p, found.y, found.p.argmax(1)
    one_hot = np.eye(4)[y]
    expected = {
        "auc": metrics.roc_auc_score(y, p, multi_class="ovr", average="macro"),
        "average_precision": metrics.average_precision_score(one_hot, p, average="macro"),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, best),
        "macro_f1": metrics.f1_score(y, best, average="macro"),
        "brier": ((p - one_hot) ** 2).sum(1).mean(),
        "log_loss": metrics.log_loss(y, p),
    }
    for name, value in expected.items():
        assert measure(CATEGORICAL, name, found) == pytest.approx(value, rel=1e-9), name
    assert "sensitivity" not in measures(CATEGORICAL, found)


def test_classes_that_a_client_has_not_are_left_out() -> None:
    full = probabilities(60, 4, 5)
    lacking = full.rows(np.flatnonzero(full.y != 2))
    present = [metrics.roc_auc_score(lacking.y == c, lacking.p[:, c]) for c in (0, 1, 3)]
    assert measure(CATEGORICAL, "auc", lacking) == pytest.approx(np.mean(present))
    alone = full.rows(np.flatnonzero(full.y == 1))
    assert measure(CATEGORICAL, "auc", alone) is None
    assert measure(CATEGORICAL, "accuracy", alone) == (alone.p.argmax(1) == 1).mean()


def test_the_balance_is_over_the_classes_that_a_client_has() -> None:
    """Of three classes two occur: one is right 3 of 4 times, the other never."""
    p = np.array([[0.2, 0.1, 0.7]] * 4 + [[0.2, 0.7, 0.1]])
    found = Predicted(p, np.array([2, 2, 0, 2, 2]))
    assert measure(CATEGORICAL, "balanced_accuracy", found) == pytest.approx(0.375)


def test_numbers_are_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y = rng.poisson(3.0, 41).astype(np.float32)
    found = Predicted((y + rng.gamma(2.0, 0.7, 41) + 0.1)[:, None].astype(float), y)
    mean = found.p[:, 0]
    assert measure(GAUSSIAN, "rmse", found) == pytest.approx(
        metrics.root_mean_squared_error(y, mean)
    )
    assert measure(GAUSSIAN, "mae", found) == pytest.approx(metrics.mean_absolute_error(y, mean))
    assert measure(GAUSSIAN, "r2", found) == pytest.approx(metrics.r2_score(y, mean))
    assert measure(GAUSSIAN, "deviance", found) == pytest.approx(
        metrics.mean_tweedie_deviance(y, mean, power=0)
    )
    assert measure(POISSON, "deviance", found) == pytest.approx(
        metrics.mean_poisson_deviance(y, mean)
    )
    flat = Predicted(np.full((4, 1), 2.0), np.full(4, 2.0))
    assert measure(GAUSSIAN, "r2", flat) == metrics.r2_score(flat.y, flat.p[:, 0]) == 1.0
    assert measure(GAUSSIAN, "r2", flat.rows(np.array([0]))) is None
    assert set(measures(GAUSSIAN, found)) == set(suited("numbers"))


def test_rmse_and_mae_by_hand() -> None:
    numbers = measures(
        GAUSSIAN, predicted(GAUSSIAN, torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 5.0]))
    )
    assert (numbers["rmse"], numbers["mae"]) == (4.5**0.5, 1.5)


def test_calibration_error_is_the_mean_gap_in_fifteen_bins() -> None:
    p = np.array([0.95, 0.95, 0.95, 0.95, 0.55, 0.55])  # three of four right, none of two right
    y = np.array([1, 1, 1, 0, 0, 0])
    found = Predicted(np.stack([1 - p, p], 1), y)
    assert measure(CATEGORICAL, "ece", found) == pytest.approx(
        (4 * abs(0.95 - 0.75) + 2 * 0.55) / 6
    )
    even = Predicted(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1]))
    assert measure(CATEGORICAL, "ece", even) == 0.0


def test_the_threshold_is_the_one_with_the_greatest_sum() -> None:
    found = probabilities(80, 2, 7)
    low, high, at = metrics.roc_curve(found.y, found.p[:, 1])
    best = float((high - low).max())
    chosen = found._replace(threshold=threshold(found))
    sens, spec = (measure(CATEGORICAL, name, chosen) for name in ("sensitivity", "specificity"))
    assert sens is not None
    assert spec is not None
    assert sens + spec - 1 == pytest.approx(best)
    assert chosen.threshold not in at  # between two scores
    assert threshold(found.rows(np.flatnonzero(found.y == 0))) == 0.5  # nothing to choose by


def test_log_probabilities_and_one_logit_are_read_alike() -> None:
    logits = torch.tensor([[0.3], [-2.0], [1.5]])
    two = torch.cat([torch.zeros(3, 1), logits], 1).log_softmax(1)
    y = torch.tensor([1, 0, 0])
    for family in (CATEGORICAL, BERNOULLI):
        assert predicted(family, two, y).p[:, 1] == pytest.approx(
            torch.sigmoid(logits[:, 0]).numpy(), rel=1e-5
        )


def test_what_follows_from_the_loss_is_the_same_as_what_is_computed() -> None:
    found = probabilities(30, 5, 9)
    loss = measure(CATEGORICAL, "log_loss", found)
    assert loss is not None
    assert from_scores(CATEGORICAL, "perplexity", loss) == pytest.approx(
        measure(CATEGORICAL, "perplexity", found)
    )
    numbers = Predicted(np.array([[1.0], [3.0]]), np.array([2.0, 0.5]))
    half = float(((numbers.p[:, 0] - numbers.y) ** 2).mean() / 2)
    assert from_scores(GAUSSIAN, "rmse", half) == pytest.approx(measure(GAUSSIAN, "rmse", numbers))
    assert from_scores(POISSON, "rmse", half) is None
    assert from_scores(CATEGORICAL, "auc", loss) is None


def test_a_model_that_diverged_has_no_measures() -> None:
    found = Predicted(np.array([[math.nan, 1.0], [0.5, 0.5]]), np.array([0, 1]))
    assert measures(CATEGORICAL, found) == {}
    assert measures(CATEGORICAL, found.rows(np.array([], dtype=int))) == {}


def test_a_standard_error_shrinks_with_rows_and_is_near_the_truth() -> None:
    few, many = (probabilities(n, 2, 11) for n in (40, 1000))
    small, large = (standard_error(CATEGORICAL, "accuracy", one) for one in (few, many))
    share = measure(CATEGORICAL, "accuracy", many)
    assert small is not None
    assert large is not None
    assert share is not None
    assert large == pytest.approx(math.sqrt(share * (1 - share) / 1000), rel=0.3)
    assert small > 2 * large
    assert standard_error(CATEGORICAL, "accuracy", few.rows(np.array([3]))) is None


def test_the_data_choose_the_measure() -> None:
    assert chosen_for("two classes", [60, 40]).name == "accuracy"
    assert chosen_for("two classes", [1000, 199]).name == "auc"
    assert chosen_for("two classes", [200, 1000]).name == "accuracy"
    assert chosen_for("two classes", [1000, 19]).name == "average_precision"
    assert (
        chosen_for("two classes", [1000, 0]).name == "accuracy"
    )  # nothing is known of the other class
    assert chosen_for("classes", [1000, 3, 400]).name == "accuracy"
    assert chosen_for("numbers").name == "rmse"
    assert chosen_for("text", [5, 1]).name == "perplexity"
    assert "6.3 %" in chosen_for("two classes", [937, 63]).why
    assert "94.0 %" in misleads([94, 6])
    assert misleads([79, 21]) == misleads([]) == misleads([5]) == ""


def test_a_measure_of_other_labels_is_refused_with_those_that_fit() -> None:
    with pytest.raises(
        FedkinError, match=r"'auc' is not for numbers: choose rmse, mae, r2, deviance"
    ):
        check_measure("auc", kind_of(0, False))
    assert {*MEASURES} == {*OF, "deviance"}  # each is computed; deviance depends on the family
    assert all(measure.label for measure in MEASURES.values())


def test_the_threshold_is_that_of_the_definition_and_takes_no_square_of_the_rows() -> None:
    rng = np.random.default_rng(5)
    for size, digits in ((1, 2), (7, 1), (60, 1), (60, 9), (61, 2)):
        p = rng.random(size).round(digits)
        found = Predicted(np.stack([1 - p, p], 1), rng.integers(0, 2, size))
        assert threshold(found) == by_definition(found)
    p = rng.random(50_000)
    many = Predicted(np.stack([1 - p, p], 1), rng.integers(0, 2, len(p)))
    began = time.process_time()
    threshold(many)
    assert time.process_time() - began < 1.0


def by_definition(found: Predicted) -> float:
    scores, positive = found.p[:, 1], found.y == 1
    if positive.all() or not positive.any():
        return 0.5
    values = np.unique(scores)[::-1]
    right = [(scores[positive] >= t).mean() + (scores[~positive] < t).mean() for t in values]
    at = int(np.argmax(np.round(right, 12)))
    return float((values[at] + (values[at + 1] if at + 1 < len(values) else 0.0)) / 2)


def test_many_classes_take_no_square_of_them() -> None:
    """A vocabulary has ten thousand: a matrix of one row a class would be 800 MB."""
    found = Predicted(np.full((3, 20_000), 1 / 20_000), np.array([0, 5, 19_999]))
    tracemalloc.start()
    try:
        value = measure(CATEGORICAL, "brier", found)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert value == pytest.approx((1 - 1 / 20_000) ** 2 + 19_999 / 20_000**2)
    assert peak < 10_000_000
