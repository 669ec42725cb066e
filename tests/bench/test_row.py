"""Rows as they stand in a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedkin.bench.row import Row, append, read_rows, row_of, whole_cases
from fedkin.bench.running import ROWS, bench
from fedkin.core.errors import FedkinError
from tests.bench.tiny import asked, quiet


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    out = tmp_path_factory.mktemp("bench")
    return out, bench(asked(out), quiet)


def _lines(change: Callable[[dict[str, Any]], None], path: Path) -> str:
    content = json.loads(path.read_text().splitlines()[0])
    change(content)
    return json.dumps(content)


def test_a_file_that_is_not_ours_is_refused_with_its_line(
    done: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    path = done[0] / ROWS
    for line, said in [
        ("{}", "id: field required"),
        ("nonsense", "it is no JSON"),
        (_lines(lambda row: row.update(hurt=2.0), path), "hurt: input should be less"),
        (_lines(lambda row: row.update(mean="a"), path), "mean: input should be a valid number"),
    ]:
        with pytest.raises(FedkinError, match=f"rows: line 7 is no row of a leaderboard: {said}"):
            row_of(line, "rows: line 7")


def test_rows_of_half_a_search_do_not_count(done: tuple[Path, list[Row]], tmp_path: Path) -> None:
    rows = [row for row in done[1] if row.method == "ditto"]
    append(tmp_path / ROWS, rows[:1])
    assert whole_cases(read_rows(tmp_path / ROWS)) == []
    append(tmp_path / ROWS, rows)
    assert whole_cases(read_rows(tmp_path / ROWS)) == rows
