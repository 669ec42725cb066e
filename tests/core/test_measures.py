"""The catalogue of measures and the rule that chooses one."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.measures import (
    ASIDE,
    MEASURES,
    check_measure,
    chosen_for,
    difference,
    gain_on,
    kind_of,
    measure_named,
    misleads,
    suited,
)


@pytest.mark.parametrize(
    ("classes", "tokens", "kind"),
    [(0, False, "numbers"), (2, False, "two classes"), (3, False, "classes"), (90, True, "text")],
)
def test_kinds_of_labels(classes: int, tokens: bool, kind: str) -> None:
    found = kind_of(classes, tokens)
    assert found == kind
    assert chosen_for(found).name in suited(found)


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        ([100, 20], "accuracy"),
        ([19, 100], "auc"),
        ([1000, 20], "auc"),
        ([1000, 19], "average_precision"),
        ([5, 0], "accuracy"),
        ([], "accuracy"),
    ],
)
def test_a_rare_class_chooses_another_measure(counts: list[int], name: str) -> None:
    assert chosen_for("two classes", counts).name == name
    assert chosen_for("classes", counts).name == "accuracy"


def test_a_measure_of_other_labels_is_refused_with_those_that_fit() -> None:
    with pytest.raises(FedkinError, match="'rmse' is not for classes: choose accuracy, balanced"):
        check_measure("rmse", "classes")
    check_measure("auc", "two classes")


def test_four_fifths_of_one_class_mislead() -> None:
    assert misleads([79, 21]) == ""
    assert "90.0 %" in misleads([5, 90, 5])
    assert misleads([7]) == misleads([0, 0]) == ""


def test_directions_and_ranges() -> None:
    assert not measure_named("loss").higher
    assert all(one.least < one.most for one in MEASURES.values())
    assert (measure_named("auc").sign, measure_named("rmse").sign) == (1, -1)
    less = {name for name, one in MEASURES.items() if not one.higher}
    assert less == {"log_loss", "brier", "ece", "rmse", "mae", "deviance", "perplexity"}


def test_what_is_recorded_beside_measures_has_facts_too() -> None:
    assert measure_named("threshold") is ASIDE["threshold"]
    assert measure_named("se").label == "standard error"
    assert not measure_named("threshold").percent


def test_a_gain_is_upwards_and_without_what_rounding_makes() -> None:
    assert gain_on("accuracy", 0.5, 0.25) == gain_on("rmse", 0.25, 0.5) == 0.25
    assert 0.1 + 0.2 != 0.3
    assert difference(0.1 + 0.2, 0.3) == gain_on("rmse", 0.3, 0.1 + 0.2) == 0
    assert gain_on("rmse", 1e-10, 0.0) < 0 < gain_on("accuracy", 1e-10, 0.0)
