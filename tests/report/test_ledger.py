"""Totals of the ledger, recounted from its rows; and what the engine moved."""

import sqlite3
from pathlib import Path

from fedkin.experiment.run import run
from fedkin.report.ledger import bytes_by_round, communication
from fedkin.report.records import opened
from fedkin.report.summary import summary
from fedkin.report.terminal_tables import show
from fedkin.runs.database import MOVED
from fedkin.runs.spec import parse
from tests.awkward import TAKING_PART, messages, record
from tests.report.comparison.compare_examples import printed


def told(run: Path, *query: object) -> dict:
    if query:
        with sqlite3.connect(run / "run.db") as connection:
            connection.execute(*query)
    with opened(run) as found:
        return communication(found)


def test_totals_are_those_of_the_rows_and_setup_and_finish_stand_beside(tmp_path: Path) -> None:
    run = record(tmp_path / "run")
    rows = [row for at, who in TAKING_PART.items() for row in messages(at, who)]
    found = told(run)
    up = sum(row[3] for row in rows if row[1] == "up")
    down = sum(row[3] for row in rows if row[1] == "down")
    once = sum(row[3] for row in rows if row[1] == "down" and not row[2])
    assert found["unicast"]["bytes"] == {"up": up, "down": down, "total": up + down}
    assert found["paper"]["bytes"] == {"up": up, "down": once, "total": up + once}
    assert "control" not in found["paper"]["by_kind"]
    assert found["setup"]["unicast"]["bytes"]["down"] == 0
    assert found["finish"]["unicast"]["bytes"]["up"] == 0
    with opened(run) as one:
        assert sum(both for _, both in bytes_by_round(one).values()) == up + down


def test_messages_that_differ_in_a_part_count_whole(tmp_path: Path) -> None:
    """fedpac's message down holds the client's own head: from round 2 on none is another's copy."""
    small = {"run": {"clients": 3, "rounds": 2}, "train": {"steps": 1}, "model": {"name": "dnn"}}
    small |= {"engine": {"name": "inprocess"}, "method": {"name": "fedpac"}}
    spec, _ = parse(small)
    with opened(run(spec, tmp_path / "run")) as found:
        rows = found.rows(
            "SELECT round, bytes, copy, parameters, centroids FROM messages "
            "WHERE direction = 'down' AND phase = 'round' ORDER BY round, client"
        )
        (first, first_all), (second, second_all) = bytes_by_round(found).values()
    assert [row[2] for row in rows] == [0, 1, 1, 0, 0, 0]  # all heads are alike at the start
    assert first < first_all
    assert second == second_all
    assert len({row[3:] for row in rows}) == 1  # each is the whole model and all class means


def test_what_the_engine_moved_is_of_rounds_alone(tmp_path: Path) -> None:
    run = record(tmp_path / "run")
    assert told(run)["moved"] is None
    told(run, MOVED)
    found = told(run, "INSERT INTO moved VALUES (0, 6, 999), (1, 2, 700), (3, 5, 41), (4, 9, 9)")
    assert found["moved"] == {"messages": 7, "bytes": 741}
    assert "moved by the engine (7 messages up)" in printed(show(summary(run)))
    assert told(run, "DROP TABLE moved")["moved"] is None
    assert "moved by the engine" not in printed(show(summary(run)))
