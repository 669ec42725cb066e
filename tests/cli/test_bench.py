"""``fedkin bench``: where the rows are looked for."""

from pathlib import Path

from fedkin.bench.row import append
from fedkin.bench.running import ROWS
from tests.bench.made_rows import made_rows
from tests.cli.command import fedkin, told


def test_rows_are_found_in_the_folder_of_a_bench(tmp_path: Path) -> None:
    append(tmp_path / ROWS, made_rows())
    for named in (tmp_path, tmp_path / ROWS):
        page = tmp_path / "page.html"
        done = fedkin("bench", "page", named, "--out", page)
        assert done.exit_code == 0, done.output
        assert page.is_file()
        page.unlink()
    said = told("bench", "verify", "nothing", "--rows", tmp_path)
    assert "nothing" in said
    assert "cannot be read" not in said


def test_a_folder_without_rows_is_told_which_file_it_lacks(tmp_path: Path) -> None:
    assert told("bench", "page", tmp_path) == f"{tmp_path / ROWS} does not exist"
