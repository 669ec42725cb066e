"""What the functions of a method hold, and the files that they are in."""

import functools
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from fedkin.setup.arguments.functions import standing
from tests.setup.arguments.test_values import damped


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
    teacher = nn.Linear(2, 2)
    both = settings(lambda _, *, c=7, held=(1, 2): {"x": teacher})
    assert both == {"lr": 0.1, "c": 1.0, "<lambda>.c": 7, "held": (1, 2)}


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
