"""Rows and suites from elsewhere are data: code that they name is not imported unasked."""

import sys
from pathlib import Path
from typing import Any

import pytest

from fedkin.bench.running import bench
from fedkin.bench.verify import verify
from fedkin.core.errors import FedkinError
from tests.bench.test_verify import CONTENT, a_row
from tests.bench.tiny import SPEC, asked, quiet, tiny

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
            bench(asked(tmp_path / "out", suite=suite), quiet)
    assert not (tmp_path / "out").exists()
    assert "evil_code" not in sys.modules
