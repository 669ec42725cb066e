"""Rows and suites from elsewhere are data: code that they name is not imported unasked."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fedkin.bench.leaderboard.markdown import markdown
from fedkin.bench.leaderboard.page import page
from fedkin.bench.row import row_of
from fedkin.bench.running import bench
from fedkin.bench.verify import verify
from fedkin.core.errors import FedkinError
from tests.bench.test_verify import CONTENT, a_row
from tests.bench.tiny import SPEC, quiet, tiny, tiny_request

EVIL: dict[str, dict[str, Any]] = {
    "method": {"method": {"name": "evil_code:method"}},
    "model": {"model": {"name": "evil_code:Net"}},
}


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_code.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("place", list(EVIL))
def test_a_row_that_names_code_is_not_run(place: str) -> None:
    row = a_row(content={**CONTENT, **EVIL[place]})
    with pytest.raises(FedkinError, match=r"names code .evil_code:"):
        verify(row, None)
    assert "evil_code" not in sys.modules


@pytest.mark.usefixtures("evil")
def test_a_suite_that_names_code_is_not_run(tmp_path: Path) -> None:
    settings = {"digits": {"title": "Digits", "spec": {**SPEC, **EVIL["model"]}}}
    for suite in (tiny(methods=["evil_code:method"]), tiny(settings=settings)):
        with pytest.raises(FedkinError, match=r"tiny names code .evil_code:"):
            bench(tiny_request(tmp_path / "out", suite=suite), quiet)
    assert not (tmp_path / "out").exists()
    assert "evil_code" not in sys.modules


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mean", 1e300),
        ("clients", {"0": float("nan")}),
        ("seconds", -1),
        ("measure", "os.system"),
        ("of", 10**30),
        ("method", "m" * 201),
        ("content", {"data": "x" * 100_001}),
        ("content", {"data": {}, "train": {"lr": 1}, "method": "fedavg"}),
        ("content", {"data": {}, "train": {}, "method": {}}),
        ("trials", [{"hyper": {}}] * 65),
    ],
)
def test_a_strangers_row_is_bounded(key: str, value: object) -> None:
    line = json.dumps({**a_row().model_dump(mode="json"), key: value})
    with pytest.raises(FedkinError, match=rf"a: line 1 is no row of a leaderboard: {key}"):
        row_of(line, "a: line 1")


def test_a_strangers_row_commands_neither_a_terminal_nor_a_table() -> None:
    told = {
        **a_row().model_dump(mode="json"),
        "method": "a|b\x1b[2J\ud800<img>[x](http://y)",
        "budgets": ["rounds"],
    }
    row = row_of(json.dumps(told), "a: line 1")
    assert row.method == "a|b\\x1b[2J\\ud800<img>[x](http://y)"
    assert r"| **▲ a\|b\x1b[2J\ud800&lt;img>[x]\(http:\//y)** |" in markdown([row])
    page([row]).encode()
