"""A page of more clients than it can show: quantiles, a panel, and a table beside it."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.report import panel as panels
from fedkin.report.intervals import LARGE, interval
from fedkin.report.matrix import measured
from fedkin.report.page.client_file import client_rows
from fedkin.report.page.content import pages
from fedkin.report.page.report import write_report
from fedkin.report.panel import panel_of
from fedkin.report.records import Run, opened
from fedkin.report.scores import curves
from fedkin.report.summary import of_run
from fedkin.runs.database import create, put_rows

CLIENTS = 41
NAMES = {3: "=1+1", 5: '@a,"b"', 7: "<b>east</b>", 11: "-2"}
ORDER = np.random.default_rng(4).permutation(CLIENTS)  # client → its place from the worst
CLUSTERS = ["0", "1", "2"]


def name(client: int) -> str:
    return NAMES.get(client, f"c{client}")


def value(client: int, at: int) -> float:
    """The final score rises with the client's place; in round 1 it falls."""
    place = int(ORDER[client])
    return round((place + 1) / 50 if at == 2 else 1 - place / 50, 6)


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


def test_the_panel_has_the_worst_the_best_and_others(folder: Path, many: None) -> None:
    with opened(folder) as run:
        found = panel_of(run, *measured(run, of_run(run)))
        again = panel_of(run, *measured(run, of_run(run)))
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


def test_the_page_shows_the_panel_and_the_numbers_of_everybody(folder: Path, many: None) -> None:
    with opened(folder) as run:
        found = panel_of(run, *measured(run, of_run(run)))
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


def test_a_link_is_not_followed(folder: Path, many: None, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("mine")
    (folder / "clients.csv").symlink_to(other)
    with pytest.raises(FedkinError, match="link"):
        write_report(folder)
    assert other.read_text() == "mine"


def test_a_narrowed_run_reads_rows_of_its_clients(folder: Path) -> None:
    with opened(folder) as run:
        few = run.narrowed([30, 2])
        rows = few.rows("SELECT DISTINCT client FROM metrics ORDER BY client")
        told = few.rows("SELECT DISTINCT client FROM notes ORDER BY client")
        assert rows == [(2,), (30,)]
        assert told == [(-1,), (2,), (30,)]
        assert list(few.clients) == [30, 2]
        assert client_rows(few, "accuracy", {}).count("\n") == 3
        assert len(run.rows("SELECT DISTINCT client FROM metrics")) == CLIENTS
        whole = curves(run)["personal"].test  # read once, and again of the few alone
        assert whole == pytest.approx(
            [np.mean([value(k, at) for k in range(CLIENTS)]) for at in (1, 2)]
        )
        mine = [np.mean([value(k, at) for k in (2, 30)]) for at in (1, 2)]
        assert curves(run.narrowed([30, 2]))["personal"].test == pytest.approx(mine)


def test_of_many_values_the_interval_is_the_normal_distributions() -> None:
    """Beside the bootstrap's of one value fewer; skewed values."""
    values = np.random.default_rng(3).exponential(2.0, LARGE + 1)
    normal, drawn = interval(values), interval(values[:-1])
    half = 1.959964 * values.std() / np.sqrt(len(values))
    assert normal == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-6)
    assert normal == pytest.approx(drawn, abs=0.004)
