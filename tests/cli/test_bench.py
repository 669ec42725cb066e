"""``fedkin bench``: where the rows are looked for."""

import json
from pathlib import Path

import pytest
import tomli_w

from fedkin.bench.row import ROWS, Row, append, read_rows
from fedkin.bench.suite import committed
from tests.bench.made_rows import made_rows
from tests.bench.tiny import CONTENT
from tests.cli.command import fedkin, told


@pytest.mark.rotating
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


def test_a_suite_stands_for_the_rows_that_fedkin_has_unless_a_file_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = fedkin("bench", "page", "small", "--markdown", "small.md")
    assert done.exit_code == 0, done.output
    assert "| fedmd° |" in Path("small.md").read_text()
    Path("small").mkdir()
    append(Path("small") / ROWS, made_rows())
    assert fedkin("bench", "page", "small", "--markdown", "small.md").exit_code == 0
    assert "| fedmd° |" not in Path("small.md").read_text()
    assert told("bench", "page", "smal") == "smal does not exist: did you mean 'small'?"


def test_an_added_method_is_told_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are there already: nothing is trained."""
    monkeypatch.chdir(tmp_path)
    rows = [row for row in made_rows() if row.method in {"local", "fedavg", "apfl"}]
    append(Path(ROWS), rows)
    monkeypatch.setattr("fedkin.bench.running.bench", lambda asked, tell: rows)
    done = fedkin("bench", "add", "apfl", "--suite", tiny_file(), "--out", ".")
    assert done.exit_code == 0, done.output
    assert "apfl is the 1st of 3 methods at equal rounds" in done.stdout
    assert "rows are those that fedkin has" not in done.stdout
    assert done.stdout.endswith("rows.jsonl\n")
    assert "is the" not in fedkin("bench", "run", tiny_file(), "--out", ".").stdout


def test_two_values_of_one_trial_are_refused() -> None:
    said = told("bench", "add", "ditto", "--try", "lam=1,lam=2")
    assert said == "--try lam=1,lam=2 has two values of one name: write a --try for each"


def test_what_code_prints_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made_rows()

    def printing(asked: object, tell: object) -> list[Row]:
        print("imported")
        return rows

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fedkin.bench.running.bench", printing)
    done = fedkin("bench", "run", tiny_file(), "--out", ".", "--json")
    assert len(json.loads(done.stdout)) == len(rows)
    assert "imported" in done.stderr


def test_an_added_method_stands_beside_the_rows_that_fedkin_has_of_its_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = committed("small")
    assert file is not None
    small = read_rows(file)
    asked = ("local", "fedavg", "ditto")
    own = [row for row in small if row.setting == "digits-shards" and row.method in asked]
    append(Path(ROWS), own)
    monkeypatch.setattr("fedkin.bench.running.bench", lambda asked, tell: own)
    done = fedkin("bench", "add", "ditto", "--suite", "small", "--out", ".")
    assert "shards each: ditto is the 26th of 47 methods at equal rounds" in done.stdout
    assert "UCI HAR" not in done.stdout
    assert "the other methods' rows are those that fedkin has of small" in done.stdout


def tiny_file() -> str:
    file = Path("tiny.toml")
    file.write_text(tomli_w.dumps(CONTENT))
    return str(file)
