"""What the lens makes of notes: flows that lose nobody, groups, weights, kin."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.report.charts.clusters import NOT_YET, OTHERS, flow_of, ribbons
from fedkin.report.charts.memberships import corners, spread
from fedkin.report.charts.weights import by_likeness, weight_map
from fedkin.report.collaboration import Groups, explained, groups_of, read_told
from fedkin.report.matrix import Matrix, Stack
from fedkin.report.neighbours import kin
from fedkin.report.page.figure_files import write_figures
from fedkin.report.page.report import write_report
from fedkin.report.records import Run, opened
from tests.report.records_for_tests import write

NAN = np.nan


def noted(folder: Path, notes: list[tuple[int, int, str, Any]]) -> Path:
    """The small run with these notes in place of its own."""
    write(folder)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("DELETE FROM notes")
        rows = [(at, client, name, json.dumps(value)) for at, client, name, value in notes]
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
    return folder


def test_a_flow_loses_nobody() -> None:
    values = np.array([[0, 0, 1, NAN], [0, 1, 1, NAN], [NAN, 1, 1, 0]])
    flow = flow_of(Matrix([1, 2, 5], [0, 1, 2, 3], values))
    assert flow.names == ["0", "1", NOT_YET]
    assert flow.level.tolist() == [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 1, 0]]  # who is away stays
    links, nodes, middle = ribbons(flow)
    assert [
        sum(node["clients"] for node in nodes if node["between"] == f"round {at}")
        for at in (1, 2, 5)
    ] == [4] * 3
    begins = {
        (row["cluster"], row["to"], row["clients"])
        for row in links
        if row["between"] == "rounds 1 to 2"
    }
    assert begins == {("0", "0", 1), ("0", "1", 1), ("1", "1", 1), (NOT_YET, NOT_YET, 1)}
    assert middle[0].tolist() == [1.0, 2.5, 3.5]
    assert all(row["high"] - row["low"] == pytest.approx(row["clients"]) for row in links)
    starts = {
        (row["low"], row["high"])
        for row in links
        if row["between"] == "rounds 1 to 2" and row["x"] < 0.1
    }
    assert starts == {(0, 1), (1, 2), (2, 3), (3, 4)}  # beside each other


def test_many_clusters_are_seven_and_the_others() -> None:
    values = np.array([[n % 12 if n < 24 else 0 for n in range(60)]] * 2, dtype=float)
    flow = flow_of(Matrix([1, 2], list(range(60)), values))
    assert flow.names == [*map(str, range(7)), OTHERS]
    assert np.bincount(flow.level[0])[-1] == 10


def test_points_that_coincide_are_seen_apart() -> None:
    points = spread(np.zeros((50, 2)))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)[~np.eye(50, dtype=bool)]
    assert apart.min() > 0.015
    assert np.abs(points).max() < 0.2
    np.testing.assert_allclose(np.linalg.norm(corners(5), axis=1), 1)


def test_like_memberships_are_one_group_though_another_has_the_same_largest_component(
    tmp_path: Path,
) -> None:
    told = [[0.9, 0.1], [0.88, 0.12], [0.55, 0.45]]
    with opened(noted(tmp_path, [(2, k, "membership", v) for k, v in enumerate(told)])) as run:
        groups = groups_of(read_told(run))
    assert groups == Groups("group", {0: 0, 1: 0, 2: 1})


def test_the_groups_explain_the_labels_or_not() -> None:
    alike = {k: np.array([1.0, 0.0]) if k < 2 else np.array([0.0, 1.0]) for k in range(4)}
    assert explained(Groups("cluster", {0: 0, 1: 0, 2: 1, 3: 1}), alike) == pytest.approx(1)
    assert explained(Groups("cluster", {0: 0, 1: 1, 2: 0, 3: 1}), alike) == pytest.approx(0)
    assert explained(Groups("cluster", {0: 0, 1: 1}), alike) is None  # no differences


def test_weights_are_a_chart_and_kin_and_no_cell_of_the_table(tmp_path: Path) -> None:
    rows = [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    notes = [
        (at, k, "weights", row if at == 2 else [0.0] * 3)
        for at in (1, 2)
        for k, row in enumerate(rows)
    ]
    folder = noted(tmp_path, notes)
    with opened(folder) as run:
        found = read_told(run)
        assert kin(run, found) == (
            "mean weight (weights)",
            {0: [(2, 0.75), (1, 0.25)], 1: [(0, 1.0)], 2: [(0, 0.5), (1, 0.5)]},
        )
        cells = weight_map(run, "weights", found.weights["weights"], [2, 0, 1]).spec["datasets"][
            "rows"
        ]
    assert {"client": "a", "source": "c", "weight": 0.75} in cells
    assert (
        "0.25, 0.75"
        not in write_report(folder).read_text(encoding="utf-8").split('id="figures"')[0]
    )


def test_weights_of_many_clients_are_bins(tmp_path: Path) -> None:
    count = 120
    own = {k: np.eye(4)[k % 4] for k in range(count)}
    order = by_likeness(list(range(count)), own)
    assert [k % 4 for k in order] == sorted(
        (k % 4 for k in order), key=[k % 4 for k in order].index
    )  # blocks
    stack = Stack(
        [3],
        list(range(count)),
        np.array([[[float(a % 4 == b % 4) for b in range(count)] for a in range(count)]]),
        1,
    )
    with opened(write(tmp_path)) as small:
        run = Run(
            small.folder,
            small.database,
            {},
            {k: small.clients[0]._replace(number=k) for k in range(count)},
        )
        drawn = weight_map(run, "weights", stack, order)
    cells = drawn.spec["datasets"]["rows"]
    assert len(cells) == 50 * 50
    assert sum(cell["weight"] for cell in cells) == pytest.approx(
        50 * 30, rel=0.01
    )  # a row's whole weight
    assert "bins" in drawn.note


def test_figures_are_saved_as_files(tmp_path: Path) -> None:
    names = {path.name for path in write_figures(write(tmp_path / "run"), tmp_path / "figures")}
    assert {"flow.svg", "flow.png", "flow.pdf", "simplex.svg"} <= names
    assert not any(name.startswith("own") for name in names)
    assert (tmp_path / "figures" / "flow.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures" / "flow.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (tmp_path / "figures" / "flow.svg").read_text()
