"""The leaderboard's page while a suite runs."""

from pathlib import Path

import pytest

from fedkin.bench.leaderboard.live import LiveRows
from fedkin.bench.row import ROWS, append
from fedkin.core.errors import FedkinError
from fedkin.report.watch import Watch
from tests.bench.made_rows import made_rows


def test_the_page_is_of_the_rows_that_are_there(tmp_path: Path) -> None:
    assert LiveRows.of(tmp_path) is None
    (tmp_path / ROWS).touch()
    found = LiveRows.of(tmp_path)
    assert found is not None
    with pytest.raises(FedkinError, match="has no row yet"):
        found.page()
    append(tmp_path / ROWS, made_rows())
    text, changes = found.page()
    assert "<h1>" in text
    assert changes
    with Watch(tmp_path, live=found) as server:
        assert server.live is found
