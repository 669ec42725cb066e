"""study.db: made whole, looked at before it is used, and what is said where it cannot be."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.untrusted_database import journal_of
from fedkin.sweep.study_file import address, check_database, usable
from tests.cli.command import fedkin, told
from tests.security.hostile import super_journal
from tests.sweep.study_examples import QUICK

optuna = pytest.importorskip("optuna")
ASKED = ["sweep", *QUICK, "--space", "train.lr=0.1, 0.2", "--json"]


def test_a_database_with_other_tables_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    check_database(path, optuna)  # none yet
    optuna.create_study(storage=f"sqlite:///{path}", study_name="sweep")
    check_database(path, optuna)
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIEW other AS SELECT 1")
    connection.commit()
    connection.close()
    with pytest.raises(FedkinError, match="its tables are not those of Optuna"):
        check_database(path, optuna)


def test_a_journal_that_would_delete_another_file_is_refused(tmp_path: Path) -> None:
    folder, victim = tmp_path / "s", tmp_path / "victim.txt"
    folder.mkdir()
    optuna.create_study(storage=f"sqlite:///{folder / 'study.db'}", study_name="sweep")
    (folder / "study.db").rename(folder / "run.db")
    victim.write_text("mine")
    super_journal(folder, victim)
    for name in ("run.db", "run.db-journal"):
        (folder / name).rename(folder / name.replace("run.db", "study.db"))
    with pytest.raises(FedkinError, match="names another journal"):
        check_database(folder / "study.db", optuna)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_another_programs_study_is_not_reached_through_a_link(link: Any, tmp_path: Path) -> None:
    others = tmp_path / "others.db"
    optuna.create_study(storage=f"sqlite:///{others}", study_name="theirs")
    before = others.read_bytes()
    (tmp_path / "s").mkdir()
    link(others, tmp_path / "s" / "study.db")
    assert "link" in told(*ASKED, "--out", tmp_path / "s")
    assert others.read_bytes() == before


@pytest.mark.parametrize("name", ["a%20b", "a?b", "a{SCHEMA_VERSION}", "a#b @c:d%", "%25"])
def test_a_folder_may_be_called_anything(name: str, tmp_path: Path) -> None:
    """And the study is in it, not in the folder "a b"."""
    try:
        (tmp_path / name).mkdir()
    except OSError:
        pytest.skip("this system takes no such name")
    (tmp_path / "a b").mkdir()
    path = tmp_path / name / "study.db"
    check_database(path, optuna)
    optuna.create_study(storage=address(path), study_name="sweep")
    check_database(path, optuna)
    assert [one.relative_to(tmp_path) for one in tmp_path.rglob("*.db")] == [
        path.relative_to(tmp_path)
    ]


def killed_within_a_commit(path: Path) -> None:
    """The file and its journal, as a process leaves them that is killed while it writes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")  # pages go to the file before the commit does
        connection.execute("BEGIN")
        connection.execute("DELETE FROM version_info")
        for number in range(200):
            connection.execute("INSERT INTO studies VALUES (?, ?)", (number + 9, f"{number:0500}"))
        whole = {file: file.read_bytes() for file in (path, journal_of(path))}
        connection.execute("ROLLBACK")
    for file, content in whole.items():
        file.write_bytes(content)


def test_a_study_that_was_killed_within_a_commit_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "s"
    first = json.loads(fedkin(*ASKED, "--out", out).stdout)
    killed_within_a_commit(out / "study.db")
    before = (out / "study.db").read_bytes()
    check_database(out / "study.db", optuna)
    assert (out / "study.db").read_bytes() == before  # looked at, in a copy
    assert json.loads(fedkin(*ASKED, "--out", out).stdout) == first


def test_a_study_that_was_killed_while_it_was_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Optuna makes its tables one by one; a file with half of them is no study."""
    path = tmp_path / "study.db"

    def half(_: Any) -> None:
        with closing(sqlite3.connect(tmp_path / "study.db.part")) as connection:
            connection.execute("CREATE TABLE studies (study_id INTEGER)")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(optuna.storages, "RDBStorage", half)
        with pytest.raises(KeyboardInterrupt):
            check_database(path, optuna)
    assert not path.exists()
    journal_of(path).write_bytes(b"of a file that is gone")
    check_database(path, optuna)
    assert [one.name for one in tmp_path.iterdir()] == ["study.db"]
    optuna.create_study(storage=f"sqlite:///{path}", study_name="sweep")


@pytest.mark.rotating
def test_a_full_disk_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its cause, which Optuna's error only wraps; the same command goes on when there is
    room.
    """
    out = tmp_path / "s"

    def full(*_: object, **__: object) -> None:
        try:
            raise sqlite3.OperationalError("database or disk is full")
        except sqlite3.OperationalError as error:
            raise optuna.exceptions.StorageInternalError("An exception is raised") from error

    with monkeypatch.context() as patch:
        patch.setattr(optuna.study.Study, "tell", full)
        lines = fedkin(*ASKED, "--out", out).stderr.splitlines()
    assert lines[-1].startswith(
        f"error: {out / 'study.db'} cannot be used: database or disk is full ["
    )
    assert len(json.loads(fedkin(*ASKED, "--out", out).stdout)["trials"]) == 2
    assert len(list(out.glob("*/run.db"))) == 2  # the first was not trained again


def test_a_fault_of_fedkin_is_none_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), usable(tmp_path / "study.db", optuna):
        raise ZeroDivisionError
