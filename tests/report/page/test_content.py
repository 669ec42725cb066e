"""The report page of a run of many clients."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fedkin.report import panel as panels
from fedkin.report.matrix import measured
from fedkin.report.page.content import pages
from fedkin.report.panel import panel_of
from fedkin.report.records import Run, opened
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


def page_of(run: Run) -> str:
    return pages(run).html


def figures_of(page: str) -> dict[str, dict]:
    text = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert text is not None
    return {one["name"]: one for one in json.loads(text[1])}


def test_the_page_shows_the_panel_and_the_numbers_of_everybody(folder: Path, many: None) -> None:
    with opened(folder) as run:
        found = panel_of(run, measured(run, of_run(run))[1])
        page = page_of(run)
        mean = of_run(run)["headline"]["personal"]["final"]["mean"]
    assert found is not None
    shown = re.findall(r'<tr data-client="([^"]*)"', page)
    assert len(shown) == 12
    assert f"{100 * mean:.2f} %" in page
    assert mean == pytest.approx(np.mean([value(k, 2) for k in range(CLIENTS)]))
    figures = figures_of(page)
    rows = figures["clients"]["spec"]["datasets"]["rows"]
    dots = {row["client"]: row for row in rows if row.get("view") == "personal" and "client" in row}
    assert set(dots) == {name(k) for k in found.clients}
    for k in found.clients:
        assert dots[name(k)]["value"] == pytest.approx(value(k, 2))
        assert dots[name(k)]["share"] == pytest.approx(int(ORDER[k]) / (CLIENTS - 1), abs=1e-4)
    line = [row for row in rows if row["view"] == "personal" and "client" not in row]
    assert (line[0]["value"], line[50]["value"], line[-1]["value"]) == (0.02, 0.42, 0.82)
    bars = figures["histogram"]["spec"]["datasets"]["rows"]
    assert sum(row.get("clients", 0) for row in bars) == CLIENTS
    assert bars[-1]["mean"] == pytest.approx(mean, abs=1e-5)
    curve = figures["rounds"]["spec"]["datasets"]["rows"]
    first = np.mean([value(k, 1) for k in range(CLIENTS)])
    assert {"mean": pytest.approx(first, abs=1e-5)}["mean"] == next(
        row["mean"] for row in curve if row["view"] == "personal" and row["round"] == 1
    )
    for drawn in ("data", "flow"):
        assert "Of the panel alone (12 of 41 clients" in figures[drawn]["note"]
    owns = re.search(r'id="owns">(.*?)</script>', page, re.S)
    assert owns is not None
    for own in json.loads(owns[1]):
        assert set(own["values"]) <= {name(k) for k in found.clients}
    assert "every client is in clients.csv" in page
