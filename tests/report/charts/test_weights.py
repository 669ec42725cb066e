"""Weights between clients."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.report.charts.weights import by_likeness, weight_map
from fedkin.report.collaboration import read_collaboration
from fedkin.report.matrix import Stack
from fedkin.report.neighbours import nearest_clients
from fedkin.report.page.report import write_report
from fedkin.report.records import Run, opened
from tests.report.collaboration_examples import noted
from tests.report.records_for_tests import write


def test_weights_are_a_chart_and_kin_and_no_cell_of_the_table(tmp_path: Path) -> None:
    rows = [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    notes = [
        (at, k, "weights", row if at == 2 else [0.0] * 3)
        for at in (1, 2)
        for k, row in enumerate(rows)
    ]
    folder = noted(tmp_path, notes)
    with opened(folder) as run:
        found = read_collaboration(run)
        assert nearest_clients(run, found) == (
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
    assert drawn.note.endswith(
        "120 clients as 50 bins of neighbours: a cell is the weight that a client of the row gives "
        "to all of the column together, on average."
    )
