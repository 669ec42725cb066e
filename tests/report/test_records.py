"""A run's records, opened for reading."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.report.frames import rounds
from fedkin.report.page.client_file import client_rows
from fedkin.report.records import opened
from fedkin.report.scores import chosen_rounds, curves
from fedkin.report.summary import summary
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


def test_a_narrowed_run_reads_rows_of_its_clients(folder: Path) -> None:
    with opened(folder) as run:
        few = run.narrowed([30, 2])
        rows = few.rows("SELECT DISTINCT client FROM metrics ORDER BY client")
        told = few.rows("SELECT DISTINCT client FROM notes ORDER BY client")
        assert rows == [(2,), (30,)]
        assert told == [(-1,), (2,), (30,)]
        assert list(few.clients) == [30, 2]
        assert client_rows(few, "accuracy", {}, {}).count("\n") == 3
        assert len(run.rows("SELECT DISTINCT client FROM metrics")) == CLIENTS
        whole = curves(run)["personal"].test  # read once, and again of the few alone
        assert whole == pytest.approx(
            [np.mean([value(k, at) for k in range(CLIENTS)]) for at in (1, 2)]
        )
        mine = [np.mean([value(k, at) for k in (2, 30)]) for at in (1, 2)]
        assert curves(run.narrowed([30, 2]))["personal"].test == pytest.approx(mine)


def test_the_last_scores_may_be_older_than_the_finished_model(folder: Path) -> None:
    with opened(folder) as run:
        assert [run.last_scored(until) for until in (None, 2, 1, 0)] == [2, 2, 1, 0]
        assert run.ended() == 1
    with sqlite3.connect(folder / "run.db") as record:
        record.execute("DELETE FROM metrics WHERE round = 2")
    with opened(folder) as run:
        assert [run.last_scored(until) for until in (None, 2, 1, 0)] == [1, 1, 1, 0]


def test_an_error_of_the_callers_own_lines_is_no_damage(folder: Path) -> None:
    with pytest.raises(ValueError, match="invalid literal"), opened(folder):
        int("my own mistake")
    with pytest.raises(KeyError, match="of mine"), opened(folder) as run:
        run.facts["of mine"]
    with pytest.raises(AttributeError, match="has no attribute"), opened(folder):
        chosen_rounds(None)  # type: ignore[arg-type]  # a line of fedkin fails, for it was misused
    with pytest.raises(MemoryError), opened(folder) as run:
        replace(run, database=Full()).rows("SELECT 1")  # type: ignore[arg-type]


class Full:
    """A record that is read where the memory is full."""

    def rows(self, query: str) -> None:
        raise MemoryError


@pytest.mark.parametrize("histogram", ["{", "{}", "7", '["a"]', "[-1]", "[[1]]"])
def test_a_histogram_that_is_no_list_of_counts_is_damage(folder: Path, histogram: str) -> None:
    with sqlite3.connect(folder / "run.db") as record:
        record.execute("UPDATE clients SET histogram = ? WHERE client = 3", (histogram,))
    with pytest.raises(FedkinError, match=r"run\.db is damaged: "), opened(folder):
        pass


@pytest.mark.parametrize("value", ["{", "7", "null", "[[0]]", '{"total": null}'])
def test_a_round_whose_seconds_or_clients_are_of_another_kind_is_damage(
    folder: Path, value: str
) -> None:
    for column, read in (("seconds", summary), ("participants", rounds)):
        with sqlite3.connect(folder / "run.db") as record:
            ((before,),) = record.execute(f"SELECT {column} FROM rounds WHERE round = 1")
            record.execute(f"UPDATE rounds SET {column} = ? WHERE round = 1", (value,))
        with pytest.raises(FedkinError, match=r"run\.db is damaged: "):
            read(folder)
        with sqlite3.connect(folder / "run.db") as record:
            record.execute(f"UPDATE rounds SET {column} = ? WHERE round = 1", (before,))
    summary(folder)


def test_a_fact_that_every_run_writes(folder: Path) -> None:
    with opened(folder) as run:
        assert run.fact("method") == "cgpfl"
        with pytest.raises(FedkinError, match=r"run\.db is damaged: .* the fact versions$"):
            run.fact("versions")
