"""Every client of a run that has more of them than its page shows, as a file."""

import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.report import panel as panels
from fedkin.report.page.report import write_report
from fedkin.runs.database import create, put_rows
from tests.report.many_clients_examples import CLIENTS, name, value

CLUSTERS = ["0", "1", "2"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people = [
        (k, name(k), "mlr", 10 + k, 4, 6, json.dumps([k % 5, 10 + k - k % 5]))
        for k in range(CLIENTS)
    ]
    facts = {"method": "cgpfl", "seed": 0, "clients": CLIENTS, "rounds": 1, "data": "made up"}
    facts |= {"split": "natural", "model": "mlr", "measure": "accuracy", "finished": True}
    out = tmp_path / "run"
    out.mkdir()
    database = create(out / "run.db", facts, people)
    with database.commit() as transaction:
        for at, phase in ((1, "round"), (2, "finish")):
            who = json.dumps([2, 9, 30])
            put_rows(transaction, "rounds", [(at, phase, who, '{"total": 1.0}')])
            rows = [
                (at, k, view, split, 1.0, value(k, at) - (0.01 if view == "global" else 0))
                for k in range(CLIENTS)
                for view in ("personal", "global")
                for split in ("val", "test")
            ]
            put_rows(transaction, "metrics", rows)
            told = [(at, k, "cluster", CLUSTERS[k % 3]) for k in range(CLIENTS)]
            put_rows(transaction, "notes", [*told, (at, -1, "clusters", "3")])
    database.close()
    return out


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "LARGE", CLIENTS - 1)
    monkeypatch.setattr(panels, "EACH", 4)


def test_the_whole_table_is_beside_the_page(folder: Path, many: None) -> None:
    write_report(folder)
    rows = list(csv.DictReader(io.StringIO((folder / "clients.csv").read_text("utf-8"))))
    assert [int(row["number"]) for row in rows] == list(range(CLIENTS))
    for k, row in enumerate(rows):
        assert float(row["personal accuracy"]) == pytest.approx(value(k, 2))
        assert float(row["global accuracy"]) == pytest.approx(value(k, 2) - 0.01)
        assert (int(row["train"]), row["val"], row["test"]) == (10 + k, "4", "6")
    assert rows[3]["client"] == "'=1+1"
    assert rows[5]["client"] == '\'@a,"b"'
    assert rows[7]["client"] == "<b>east</b>"
    assert rows[11]["client"] == "-2"


def test_of_a_safe_run_it_says_what_each_deploys(folder: Path, many: None) -> None:
    write_report(folder)
    assert "deploys" not in (folder / "clients.csv").read_text("utf-8").splitlines()[0]
    shares = [(2, k, "safe_share", str((0.0, 0.25, 1.0)[k % 3])) for k in range(CLIENTS - 1)]
    with sqlite3.connect(folder / "run.db") as database:
        database.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", shares)
    database.close()
    write_report(folder)
    rows = list(csv.DictReader(io.StringIO((folder / "clients.csv").read_text("utf-8"))))
    told = ["own", "mixture 0.25", "federated"]
    said = [*(told[k % 3] for k in range(CLIENTS - 1)), ""]  # the last said nothing
    assert [row["deploys"] for row in rows] == said


def test_a_link_is_not_followed(folder: Path, many: None, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("mine")
    (folder / "clients.csv").symlink_to(other)
    with pytest.raises(FedkinError, match="link"):
        write_report(folder)
    assert other.read_text() == "mine"
