"""The leaderboard as files."""

from pathlib import Path

import pytest

from fedkin.bench.leaderboard.files import write_leaderboard
from fedkin.core.errors import FedkinError
from tests.bench.made_rows import made_rows


def test_tables_are_written_in_place_of_the_page(tmp_path: Path) -> None:
    page, table, paper = (tmp_path / name for name in ("a.html", "a.md", "a.tex"))
    assert write_leaderboard(made_rows(), page, None, None) == [page]
    page.unlink()
    assert write_leaderboard(made_rows(), page, table, paper) == [table, paper]
    assert not page.exists()
    said = table.read_text().splitlines()[-1]  # under the table
    assert f"% {said}" in paper.read_text()


def test_a_table_takes_the_place_of_no_other_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("x = 1")
    with pytest.raises(FedkinError, match=r"mine\.py"):
        write_leaderboard(made_rows(), tmp_path / "a.html", None, mine)
    assert mine.read_text() == "x = 1"
