"""Two-class results as a clinician reads them."""

import numpy as np
import pytest

from fedkin.core.family import CATEGORICAL
from fedkin.engine.measures import Predicted, measure
from fedkin.report.page.clinical import by_chance, clinical


def test_a_clinician_reads_sentences() -> None:
    of = {"mean": 0.9, "worst_decile": 0.5, "clients": 4}
    measures = {"sensitivity": of, "specificity": {**of, "mean": 0.75}, "ece": {**of, "mean": 0.2}}
    text = clinical({"measures": {"personal": measures}})
    assert "100 cases of the second class at an average client 90 are found and 10 missed" in text
    assert "25 raise a false alarm" in text
    assert "not to be read literally" in text
    assert clinical({"measures": {"personal": {"auc": of}}}) == ""


def true_probabilities(rows: int, rng: np.random.Generator) -> tuple[float, float]:
    """(calibration error, Brier score) of a client that knows each label's true probability."""
    ill = rng.random(rows)
    found = Predicted(np.stack([1 - ill, ill], 1), (rng.random(rows) < ill).astype(np.int64))
    error, brier = (measure(CATEGORICAL, name, found) for name in ("ece", "brier"))
    assert error is not None
    assert brier is not None
    return error, brier


@pytest.mark.parametrize("rows", [20, 100, 500])
def test_true_probabilities_are_not_called_wrong_for_want_of_samples(rows: int) -> None:
    """With 20 test samples a client their calibration error is 0.19, with 100 it is 0.09."""
    rng = np.random.default_rng(0)
    errors, briers = np.transpose([true_probabilities(rows, rng) for _ in range(200)])
    chance = by_chance(float(briers.mean()), [rows] * 200)
    assert float(errors.mean()) == pytest.approx(chance, rel=0.1)
    of = {"mean": 0.9, "worst_decile": 0.5, "clients": 200}
    measures = {"sensitivity": of, "specificity": of, "brier": {"mean": float(briers.mean())}}
    text = {}
    for error in (float(errors.mean()), 0.4):
        told = {**measures, "ece": {"mean": error}}
        text[error] = clinical({"measures": {"personal": told}}, rows=[rows] * 200)
    assert "not to be read literally" not in text[float(errors.mean())]
    assert ("by chance" in text[float(errors.mean())]) is (rows < 500)
    assert "not to be read literally" in text[0.4]
