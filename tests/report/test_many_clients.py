"""A page of more clients than it can show: quantiles, a panel, and a table beside it."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedkin.report import panel as panels
from fedkin.report.intervals import LARGE, interval
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


def test_of_many_values_the_interval_is_the_normal_distributions() -> None:
    """Beside the bootstrap's of one value fewer; skewed values."""
    values = np.random.default_rng(3).exponential(2.0, LARGE + 1)
    normal, drawn = interval(values), interval(values[:-1])
    half = 1.959964 * values.std() / np.sqrt(len(values))
    assert normal == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-6)
    assert normal == pytest.approx(drawn, abs=0.004)
