"""A measure of one's own is called only where it is allowed and says that it gives a number."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.system import user_measures
from fedkin.core.system.user_measures import allow, own_value, user_measure

SOURCE = """
import numpy as np

def mean_score(p, y) -> float:
    p *= 2
    return float(p.mean())

def numpy_error(p, y, power: int = 2) -> np.float64:
    return np.mean(y) ** power

def whole_number_score(p, y) -> int:
    return len(y)

def numpy_number_score(p, y) -> np.int64:
    return y.sum()

def flag_score(p, y) -> bool:
    return True

def undefined_score(p, y) -> float:
    return float("nan")

def text_score(p, y) -> float:
    return "much"

def failing_score(p, y) -> float:
    raise KeyError("no such class")

def undeclared_score(p, y):
    return 1.0

def whole_score(found) -> float:
    return 1.0

def named_score(p, *, y) -> float:
    return 1.0

class Cost_score(float): ...
"""
P, Y = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch, own_modules) -> None:
    """They lie in a file; nobody has allowed them."""
    (tmp_path / "own73.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(user_measures._code, "_allowed", set())


def value(name: str) -> float | None:
    allow([f"own73:{name}"])
    return own_value(f"own73:{name}", P, Y)


def test_it_is_called_with_predictions_and_labels_of_its_own() -> None:
    assert value("mean_score") == 1.0
    assert P.mean() == 0.5  # it may work in place
    assert value("numpy_error") == 0.25
    assert value("whole_number_score") == 2.0
    assert value("numpy_number_score") == 1.0
    assert value("undefined_score") is None


def test_a_name_that_nobody_allowed_is_not_imported() -> None:
    with pytest.raises(FedkinError, match=r"measure 'own73:mean_score' is code .*--trust-code"):
        own_value("own73:mean_score", P, Y)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("text_score", "gives no number, but str"),
        ("failing_score", r"failed: KeyError: 'no such class' \(\w+.py, line \d+\)$"),
        ("flag_score", "is called only if it declares its result"),
        ("undeclared_score", "is called only if it declares its result"),
        ("Cost_score", "is called only if it declares its result"),
        ("whole_score", "it is called with predictions and labels"),
        ("named_score", "it is called with predictions and labels"),
    ],
)
def test_what_is_wrong_with_it_is_one_sentence(name, said) -> None:
    with pytest.raises(FedkinError, match=rf"measure 'own73:{name}' .*{said}"):
        value(name)


@pytest.mark.parametrize("name", ["os:system", "shutil:rmtree", "time:sleep"])
def test_what_is_no_measure_is_not_called(name) -> None:
    allow([name])
    with pytest.raises(FedkinError, match="is no function that gives a number"):
        user_measure(name)
