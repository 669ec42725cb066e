"""Of a run of many clients a page shows a panel."""

import json
from pathlib import Path

import pytest

from fedkin.report import panel as panels
from fedkin.report.matrix import measured
from fedkin.report.page.content import pages
from fedkin.report.page.report import write_report
from fedkin.report.panel import panel_of
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from fedkin.runs.database import create, put_rows
from tests.report.many_clients_examples import CLIENTS, ORDER, name, value

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


def test_the_panel_has_the_worst_the_best_and_others(folder: Path, many: None) -> None:
    with opened(folder) as run:
        found = panel_of(run, measured(run, of_run(run))[1])
        again = panel_of(run, measured(run, of_run(run))[1])
    assert found == again
    assert found is not None
    places = sorted(int(ORDER[k]) for k in found.clients)
    assert len(found.clients) == len(set(found.clients)) == 12
    assert places[:4] == [0, 1, 2, 3]
    assert places[-4:] == [37, 38, 39, 40]
    assert found.said == "12 of 41 clients: the 4 worst, the 4 best and 4 at random"


def test_up_to_so_many_clients_all_are_shown(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(panels, "LARGE", CLIENTS)
    with opened(folder) as run:
        found = pages(run)
    assert found.clients is None
    assert found.html.count("<tr data-client=") == CLIENTS
    assert write_report(folder).exists()
    assert not (folder / "clients.csv").exists()
