"""Rotating tests: the eight eighths have every case once, and all else whole."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.rotation import EIGHTHS, VARIABLE, pytest_collection_modifyitems

CASES = {"many": 10, "few": 2, "one": 1, "proof": 6, "other": 4, "nightly": 5}
MARKS = {name: ["rotating"] for name in ("many", "few", "one")}
MARKS |= {"proof": ["certifies"], "other": [], "nightly": ["rotating", "slow"]}


class Item:
    """What the hook reads of a test."""

    def __init__(self, name: str, case: int) -> None:
        self.nodeid = f"tests/test_cases.py::test_{name}[{case}]"
        self.marks = MARKS[name]

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None


def chosen(certify: str | None = None) -> list[str]:
    """The names of the tests that stay."""
    items: list[Any] = [Item(name, case) for name, cases in CASES.items() for case in range(cases)]
    told: list[Any] = []
    config: Any = SimpleNamespace(
        getoption=lambda name, default: {"--certify": certify}.get(name, default),
        hook=SimpleNamespace(pytest_deselected=lambda items: told.extend(items)),
    )
    count = len(items)
    pytest_collection_modifyitems(config, items)
    assert len(items) + len(told) == count, "what is left out is told"
    return [item.nodeid.rpartition("::test_")[2] for item in items]


def test_eight_eighths_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    whole = chosen()
    assert len(whole) == sum(CASES.values())
    parts = []
    for eighth in range(EIGHTHS):
        monkeypatch.setenv(VARIABLE, str(eighth))
        parts.append(chosen())
    others = [name for name in whole if name.startswith(("other", "nightly"))]
    rotating = [name for name in whole if name not in others]
    assert sorted(name for part in parts for name in part) == sorted(rotating + EIGHTHS * others)
    many = [[name for name in part if name.startswith("many")] for part in parts]
    assert sorted(map(len, many)) == [1, 1, 1, 1, 1, 1, 2, 2]
    few = [[name for name in part if name.startswith("few")] for part in parts]
    assert sorted(map(len, few)) == [0, 0, 0, 0, 0, 0, 0, 2], "too few to divide"


@pytest.mark.parametrize("given", ["8", "", "first"])
def test_another_eighth_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(pytest.UsageError, match=f"{VARIABLE}={given}: want 0 to 7"):
        chosen()


def test_an_eighth_certifies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    with pytest.raises(pytest.UsageError, match=f"of all tests: unset {VARIABLE}"):
        chosen(certify="found.json")
    monkeypatch.delenv(VARIABLE)
    assert chosen(certify="found.json")
