"""Rows as they stand in a file."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedkin.bench.row import (
    BLOCK,
    ROWS,
    Row,
    _last_line,
    append,
    half_written,
    incomplete,
    read_rows,
    row_of,
    whole_cases,
)
from fedkin.bench.running import bench
from fedkin.core.errors import FedkinError
from tests.bench.made_rows import made_rows
from tests.bench.tiny import quiet, tiny_request
from tests.cli.command import fedkin


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    out = tmp_path_factory.mktemp("bench")
    return out, bench(tiny_request(out), quiet)


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
        (
            _lines(lambda row: row.update(budgets=["rounds", "rounds"]), path),
            "budgets: value error, a budget is there twice",
        ),
    ]:
        with pytest.raises(FedkinError, match=f"rows: line 7 is no row of a leaderboard: {said}"):
            row_of(line, "rows: line 7")


@pytest.mark.parametrize("levels", [49, 60, 253, 300, 100_000])
def test_what_is_read_can_be_written_again_however_deep_it_is(tmp_path: Path, levels: int) -> None:
    deep = "[" * levels + "0.1" + "]" * levels
    line = json.dumps(made_rows()[0].model_dump(mode="json")).replace(
        '"lr": 0.1', f'"lr": {deep}', 1
    )
    if levels < 50:
        append(tmp_path / "again.jsonl", [row_of(line, "a line")])
        assert row_of((tmp_path / "again.jsonl").read_text(), "again").hyper["lr"]
        return
    with pytest.raises(FedkinError, match=r"more than 50 levels|it is too deep"):
        row_of(line, "a line")


def test_rows_of_half_a_search_do_not_count(done: tuple[Path, list[Row]], tmp_path: Path) -> None:
    rows = [row for row in done[1] if row.method == "ditto"]
    append(tmp_path / ROWS, rows[:1])
    assert whole_cases(read_rows(tmp_path / ROWS)) == []
    append(tmp_path / ROWS, rows)
    assert whole_cases(read_rows(tmp_path / ROWS)) == rows


def test_a_last_row_without_its_newline_counts(
    done: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    path = tmp_path / ROWS
    append(path, done[1][:2])
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert read_rows(path) == done[1][:2]
    append(path, done[1][2:])
    assert read_rows(path) == done[1]
    with open(path, "ab") as file:
        file.write(b'{"id": "half')
    assert read_rows(path) == done[1]


def test_to_add_a_row_the_end_of_a_file_is_read_alone() -> None:
    class Counted(io.BytesIO):
        seen = 0

        def read(self, size: int | None = -1) -> bytes:
            found = super().read(size)
            self.seen += len(found)
            return found

    long = b"y" * (3 * BLOCK)
    for content, last, most in (
        (b"x\n" * 4 * BLOCK + b"half", b"half", BLOCK),
        (b"x\n" * 4 * BLOCK, b"", BLOCK),
        (b"x\n" * 4 * BLOCK + long, long, 8 * BLOCK),
        (long, long, 3 * BLOCK),
        (b"", b"", 0),
    ):
        file = Counted(content)
        assert _last_line(file, len(content)) == last
        assert file.seen <= most


def test_what_some_take_for_the_end_of_a_line_is_text(
    done: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    odd = done[1][0].model_copy(update={"model": "a\u2028b"})
    path = tmp_path / ROWS
    path.write_text(json.dumps(odd.model_dump(mode="json"), ensure_ascii=False) + "\n", "utf-8")
    assert [row.id for row in read_rows(path)] == [odd.id]


def test_a_search_whose_rows_are_lacking_is_named_by_the_page(
    done: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    ditto = [row for row in done[1] if row.method == "ditto"]
    said = "tiny/digits: the search of ditto is left out, for it has 1 of its 2 rows"
    assert incomplete(done[1]) == []
    assert incomplete([*done[1], ditto[0].model_copy(update={"id": "x", "case": "y"})]) == [said]
    path = tmp_path / ROWS
    append(path, [row for row in done[1] if row != ditto[1]])
    shown = fedkin("bench", "page", str(path), "--out", str(tmp_path / "page.html"))
    assert shown.exit_code == 0
    assert said in " ".join(shown.stderr.split())


def test_half_a_last_row_is_named_by_every_command_that_reads_it(
    done: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    append(path, done[1])
    assert half_written(path) == half_written(tmp_path / "nowhere") == []
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip(b"\n"))
    assert half_written(path) == []
    path.write_bytes(whole + whole[:40])
    (said,) = half_written(path)
    assert said == (
        f"{path}: the last line is left out, for whoever wrote it was stopped before its end"
    )
    for command in (
        ("page", path, "--out", tmp_path / "page.html"),
        ("verify", done[1][0].id, "--rows", path),
    ):
        shown = fedkin("bench", *command)
        assert " ".join(shown.stderr.split()).count(said) == 1
