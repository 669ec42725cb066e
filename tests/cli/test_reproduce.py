"""The command that a page of a preset says it was made by."""

from pathlib import Path
from typing import Any, cast

import pytest

from fedkin.cli.reproduce import PresetRequest, _command
from fedkin.reproduce.preset import preset
from fedkin.reproduce.running import known
from tests.cli.command import fedkin, told

TABLE = preset("ppfl-figure-8")
NAMES = [row.name for row in TABLE.rows]


def made_by(words: str | None, asked: list[int], finished: list[int], out: Path) -> str:
    rows = tuple(TABLE.rows[k] for k in asked)
    changes: dict[str, Any] = {"train.lr": 0.1}
    request = PresetRequest(TABLE, rows, "small", 2, out, changes, False, words, {})
    all_rows = [
        known(row, 2, out, {}, 1.0)._replace(missing="" if k in finished else "not run yet")
        for k, row in enumerate(TABLE.rows)
    ]
    return _command(request, cast(Any, all_rows))


@pytest.mark.parametrize(
    ("words", "asked", "finished", "rows"),
    [
        (None, [0, 1, 2, 3, 4], [0], ""),
        ("N2", [0], [0], " --rows N2"),
        ("N2", [0], [], " --rows N2"),  # it failed
        ("N3", [1], [0, 1], f" --rows {NAMES[0]},{NAMES[1]}"),
        ("N2", [0], [0, 1, 2, 3, 4], ""),  # the other rows are there from calls before
    ],
)
def test_it_names_the_rows_that_the_page_has(
    words: str | None, asked: list[int], finished: list[int], rows: str, tmp_path: Path
) -> None:
    assert made_by(words, asked, finished, tmp_path) == (
        f"fedkin reproduce ppfl-figure-8 --scale small{rows} --seeds 2 --set train.lr=0.1"
    )


def test_a_damaged_csv_is_told_before_anything_is_run(tmp_path: Path) -> None:
    (tmp_path / "comet-figure-2.csv").write_text("row,seed\n")
    said = told("reproduce", "comet-figure-2", "--out", tmp_path)
    assert f"{tmp_path / 'comet-figure-2.csv'} is no file of finished rows" in said


@pytest.mark.parametrize("what", [("comet-figure-2",), ("claims", "comet", "--finished")])
def test_a_file_is_no_folder_for_a_page(what: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    done = fedkin("reproduce", *what, "--out", tmp_path / "notes")
    assert done.exit_code == 2
    file = tmp_path / "notes"
    assert f"{file} cannot be made: {file} is a file: choose another folder" in done.stderr
    assert (tmp_path / "notes").read_text() == "mine"
