"""The clients of the worst decile, each with how sure its number is."""

import sqlite3

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from fedkin.report.intervals import FEW, MANY, exact_of_share, of_error, of_share
from fedkin.report.records import opened
from fedkin.report.worst_clients import worst_clients
from tests.awkward import ROUNDS, SHUFFLED, accuracy, auc, record

AT = ROUNDS[-1]
AT_ONCE = 1 - 0.05 / 5  # five clients have an accuracy, and a macro AUC


@pytest.fixture
def folder(tmp_path):
    return record(tmp_path / "run")


def worst(folder, measure):
    with opened(folder) as run:
        return worst_clients(run, AT, "personal", measure)


def test_the_lowest_accuracy_with_its_test_rows(folder) -> None:
    known = {k: accuracy(AT, k, "personal", "test") for k in range(6)}
    lowest = min((v, k) for k, v in known.items() if v is not None)
    (row,) = worst(folder, "accuracy")
    member = SHUFFLED[lowest[1]]
    assert (row["client"], row["test"], row["value"]) == (member.name, member.test, lowest[0])
    assert row["interval"] == exact_of_share(lowest[0], member.test, AT_ONCE)
    assert row["few"] == (member.test < FEW)


def test_of_losses_the_highest(folder) -> None:
    (row,) = worst(folder, "log_loss")
    with opened(folder) as run:
        found = run.rows("SELECT client, loss FROM metrics WHERE round = 4 AND split = 'test'")
    assert row["value"] == max(loss for client, loss in found if run.name(client) == row["client"])
    assert row["interval"] is None  # nobody sent an error


def sent(folder, errors, rows=FEW) -> None:
    """The clients' errors of their measure, each with so many test rows."""
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE clients SET test = ?", (rows,))
        database.executemany(
            "INSERT INTO measures VALUES (?, ?, 'personal', 'test', 'se', ?)",
            [(AT, k, error) for k, error in enumerate(errors)],
        )


def test_other_measures_have_the_error_that_the_client_sent(folder) -> None:
    known = {k: auc(AT, k, "personal", "test") for k in range(6)}
    value, client = min((v, k) for k, v in known.items() if v is not None)
    sent(folder, [0.01 * (k + 1) for k in range(6)])
    (row,) = worst(folder, "auc")
    assert (row["client"], row["value"]) == (SHUFFLED[client].name, value)
    assert row["interval"] == of_error(value, 0.01 * (client + 1), AT_ONCE)


@pytest.mark.parametrize(("error", "rows"), [(0.0, 4), (0.0, FEW), (0.1, FEW - 1)])
def test_rows_that_say_nothing_of_others_give_no_interval(folder, error: float, rows: int) -> None:
    """An AUC of 0 of two positives and two negatives is 0 however they are drawn again."""
    sent(folder, [error] * 6, rows)
    (row,) = worst(folder, "auc")
    assert row["interval"] is None


def test_no_interval_goes_beyond_what_the_measure_can_be(folder) -> None:
    sent(folder, [9.0] * 6)
    (row,) = worst(folder, "auc")
    assert row["interval"] == (0.0, 1.0)


def test_a_tenth_of_the_clients_worst_first(folder) -> None:
    with sqlite3.connect(folder / "run.db") as database:
        for k in range(6, 25):
            database.execute(
                "INSERT INTO metrics VALUES (4, ?, 'personal', 'test', 1.0, ?)", (k, k / 1000)
            )
    found = worst(folder, "accuracy")
    assert [row["client"] for row in found] == ["6", "7"]  # of 24 or 25
    assert [row["interval"] for row in found] == [None, None]  # nothing is known of them
    assert worst(folder, "accuracy") == found


def test_where_nothing_was_measured_nobody_is_worst(folder) -> None:
    with opened(folder) as run:
        assert worst_clients(run, 99, "personal", "accuracy") == []


@pytest.mark.rotating
@pytest.mark.parametrize("true", [0.8, 0.9, 0.95])
@pytest.mark.parametrize(("clients", "rows"), [(10, 30), (100, 25)])
def test_intervals_of_all_clients_at_once_hold_the_worst_ones_true_value(
    clients: int, rows: int, true: float
) -> None:
    """All have the same true accuracy, and the worst is the worst by chance."""
    rng, alone, together = np.random.default_rng(1), 0, 0
    for worst in rng.binomial(rows, true, (500, clients)).min(1) / rows:
        alone += of_share(worst, rows)[1] >= true
        together += exact_of_share(worst, rows, 1 - 0.05 / clients)[1] >= true
    assert alone / 500 < 0.9
    assert together / 500 > 0.95


def test_an_exact_interval_of_a_share_is_clopper_and_pearsons() -> None:
    for right, rows in ((0, 4), (3, 7), (50, 50)):
        expected = proportion_confint(right, rows, alpha=0.01, method="beta")
        assert exact_of_share(right / rows, rows, 0.99) == pytest.approx(expected, abs=1e-9)


def test_of_many_rows_wilsons_interval_stands_for_the_exact_one() -> None:
    for share in (0.02, 0.5, 0.97):
        exact = exact_of_share(share, MANY, 0.999)
        assert of_share(share, MANY, 0.999) == pytest.approx(exact, abs=2e-5)
    assert exact_of_share(0.5, 2**53, 0.999) == pytest.approx((0.5, 0.5), abs=1e-7)
