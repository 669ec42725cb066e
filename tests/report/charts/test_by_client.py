"""Clients from the worst to the best."""

import numpy as np

from fedkin.report.charts.by_client import by_client
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client

CLIENTS = {k: Client(k, f"s{10 - k}", "mlr", 9, 3, 40, [5, 4]) for k in (4, 0, 2)}
PERSONAL = Matrix([1, 3], [4, 0, 2], np.array([[0.9, 0.1, 0.2], [0.25, np.nan, 0.75]]))
GLOBAL = Matrix([1, 3], [4, 0, 2], np.array([[0.0, 0.0, 0.0], [0.5, 0.375, 0.125]]))


def test_the_last_round_of_the_first_view_orders_those_that_it_has() -> None:
    found = by_client({"personal": PERSONAL, "global": GLOBAL}, "accuracy", CLIENTS)
    rows = found.spec["datasets"]["rows"]
    drawn = [(row["client"], row["rank"], row["view"], row["value"]) for row in rows]
    assert drawn == [
        ("s6", 1, "personal", 0.25),
        ("s8", 2, "personal", 0.75),
        ("s6", 1, "global", 0.5),
        ("s8", 2, "global", 0.125),
    ]


def test_an_interval_is_of_the_clients_own_samples_and_a_baseline_stands_beside() -> None:
    found = by_client({"personal": PERSONAL}, "accuracy", CLIENTS, {"alone": {2: 0.5, 4: 0.75}})
    rows = found.spec["datasets"]["rows"]
    assert all(row["low"] < row["value"] < row["high"] for row in rows[:2])
    assert [(row["view"], row["value"]) for row in rows[2:]] == [("alone", 0.5), ("alone", 0.75)]
    assert "Grey: alone" in found.note


def test_a_measure_in_small_units_is_no_zero() -> None:
    small = Matrix([1], [4, 0], np.array([[1.23456789e-7, 4.0e-7]]))
    rows = by_client({"personal": small}, "rmse", CLIENTS).spec["datasets"]["rows"]
    assert [row["value"] for row in rows] == [1.2346e-7, 4.0e-7]
