"""What the functions of a method hold, and the files that they are in."""

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from torch import nn

from fedkin.core.aggregation import WeightedSum
from fedkin.setup.arguments.functions import standing
from tests.setup.arguments.test_values import damped


class Bound:
    """An object that is no function."""

    def __init__(self, share: float) -> None:
        self.share = share

    def method(self, *_: Any) -> dict[str, Any]:
        return {"x": self.share}


class Rule:
    """A function that is an object."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, *_: Any) -> dict[str, Any]:
        return {}

    def method(self, *_: Any) -> dict[str, Any]:
        return {}


def test_partial_functions_objects_and_defaults_hold_values_too() -> None:
    def settings(metrics: Any) -> Any:
        return standing(damped()._replace(client_metrics=metrics))["settings"]

    def metrics(share: float, _: Any) -> dict[str, Any]:
        return {}

    assert settings(Rule(0.3))["share"] == 0.3
    assert settings(Rule(0.4).method)["share"] == 0.4
    assert settings(functools.partial(metrics, share=0.5))["share"] == 0.5
    assert settings(lambda _, share=0.6: {})["share"] == 0.6
    assert settings(Bound(0.7).method)["share"] == 0.7
    held = {"several": [0.8]}
    assert settings(lambda _: held)["held"] == held
    room = SimpleNamespace(share=0.9)
    assert settings(lambda _: room)["share"] == 0.9
    first, second = np.array([0.1]), np.array([0.2])
    assert settings(lambda _, x=first: {}) != settings(lambda _, x=second: {})
    teacher = nn.Linear(2, 2)
    both = settings(lambda _, *, c=7, held=(1, 2): {"x": teacher})
    assert both == {"lr": 0.1, "c": 1.0, "<lambda>.c": 7, "held": (1, 2)}


def test_a_sum_by_other_weights_is_other_code() -> None:
    one, two = (damped()._replace(aggregation=WeightedSum(w)) for w in ("samples", "uniform"))
    assert standing(one)["code"] != standing(two)["code"]
    assert standing(one) == standing(damped()._replace(aggregation=WeightedSum("samples")))


@pytest.mark.usefixtures("own_modules")
def test_who_changes_the_file_changes_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "mine47.py"
    file.write_text("def metrics(state):\n    return {}\n")
    from mine47 import metrics  # type: ignore[import-not-found]

    method = damped()._replace(client_metrics=metrics)
    before = standing(method)
    file.write_text("def metrics(state):\n    return {'x': 1}\n")
    assert standing(method)["code"] != before["code"]
