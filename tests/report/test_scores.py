"""From scores of clients to the few numbers that are reported."""

import math
import sqlite3
from pathlib import Path

import pytest

from fedkin.experiment.run import run
from fedkin.report.comparison.run_row import read_run
from fedkin.report.records import opened
from fedkin.report.scores import Curve, chosen_rounds, curves, spread, tenth
from fedkin.report.summary import of_run
from fedkin.runs.database import MEASURES
from fedkin.runs.record import FEDERATION
from fedkin.runs.spec import parse
from tests.engine.small import content
from tests.report.records_for_tests import write

SMALL = content("ditto", run__rounds=2, run__participation=1.0)


@pytest.mark.parametrize(("clients", "decile"), [(0, 1), (1, 1), (19, 1), (20, 2), (109, 10)])
def test_a_decile_is_rounded_down_and_never_empty(clients, decile):
    assert tenth(clients) == decile


def test_worst_decile_is_the_worst_tenth_rounded_down() -> None:
    values = {
        k: k / 100 for k in range(29)
    }  # ⌊29 / 10⌋ = 2 clients: 0.00 and 0.01, or 0.27 and 0.28
    weights = dict.fromkeys(values, 1)
    assert spread(values, weights)["worst_decile"] == pytest.approx(0.005)
    assert spread(values, weights, worst="high")["worst_decile"] == pytest.approx(0.275)


def test_clients_without_a_value_are_counted_not_hidden() -> None:
    found = spread({0: 0.5, 1: None, 2: None}, {0: 10, 1: 5, 2: 0})
    assert (found["mean"], found["clients"], found["without"]) == (
        0.5,
        1,
        1,
    )  # client 2 has no test samples at all


def test_ties_go_to_the_earliest_round() -> None:
    noisy = 0.1 + 0.2  # 0.30000000000000004
    curve = Curve([2, 4, 6], [0.3, noisy, None], [None, 0.7, 0.7])
    assert chosen_rounds(curve) == {"final": 6, "best_by_validation": 2, "best_on_test": 4}
    assert chosen_rounds(Curve([1], [None], [None]))["best_by_validation"] is None


def note(folder: Path, selected: str) -> None:
    """A measure beside loss and accuracy: its name and values, as they are selected."""
    with sqlite3.connect(folder / "run.db") as database:
        database.execute(MEASURES)
        database.execute(f"INSERT INTO measures SELECT round, client, view, split, {selected}")


@pytest.mark.parametrize("measure", ["loss", "accuracy", "rmse"])
def test_a_round_in_which_a_client_diverged_is_never_the_best_by_validation(
    measure: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "run")
    note(folder, "'rmse', loss FROM metrics")
    with sqlite3.connect(folder / "run.db") as database:
        diverged = "round = 2 AND client = 2 AND split = 'val'"
        database.execute(f"UPDATE metrics SET loss = NULL WHERE {diverged}")
        database.execute(f"DELETE FROM measures WHERE {diverged}")
    with opened(folder) as run_:
        validation = curves(run_, measure)["personal"].validation
    assert [value is None for value in validation] == [False, True, False]
    # that of a client without validation samples says nothing
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE clients SET val = 0 WHERE client = 2")
    with opened(folder) as run_:
        assert None not in curves(run_, measure)["personal"].validation


def test_a_measure_that_a_client_does_not_define_leaves_it_out_of_validation(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path / "run")
    note(folder, "'auc', 0.25 * (client + 1) FROM metrics WHERE client < 2")
    with opened(folder) as run_:
        assert curves(run_, "auc")["personal"].validation == [0.375, 0.375, 0.375]


def test_scores_that_arrived_as_a_sum_have_a_mean_alone() -> None:
    weights = {0: 10, 1: 5, 2: 0}
    found = spread({FEDERATION: 0.75}, weights, summed=(2, 1))
    assert found == {
        "mean": 0.75,
        "weighted": None,
        "std": None,
        "worst_decile": None,
        "clients": 2,
        "without": 1,
    }
    nothing = spread({FEDERATION: None}, weights, summed=(0, 3))
    assert (nothing["mean"], nothing["clients"], nothing["without"]) == (None, 0, 3)


def test_a_sum_with_a_client_that_diverged_makes_no_round_the_best(tmp_path: Path) -> None:
    folder = run(parse({**SMALL, "privacy": {"secure_aggregation": True}})[0], tmp_path / "run")
    with opened(folder) as before:
        assert None not in curves(before)["personal"].validation
        final = of_run(before)["headline"]["personal"]["final"]
        assert (final["clients"], final["without"]) == (len(before.clients), 0)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("UPDATE metrics SET loss = NULL WHERE split = 'val'")
    with opened(folder) as after:
        assert set(curves(after)["personal"].validation) == {None}
    assert read_run(folder, "run").validation == -math.inf


def test_a_run_under_masks_has_its_curves_and_no_clients_score(tmp_path: Path) -> None:
    plain, masked = (
        run(parse({**SMALL, "privacy": privacy})[0], tmp_path / name)
        for name, privacy in (("plain", {}), ("masked", {"secure_aggregation": True}))
    )
    with opened(plain) as clear, opened(masked) as hidden:
        for view, curve in curves(clear).items():
            other = curves(hidden)[view]
            # of the last round that trained the finish alone has scores
            kept = [at for at, round in enumerate(curve.rounds) if round != 2]
            assert len(kept) == len(curve.rounds) - 1
            assert other.rounds == [curve.rounds[at] for at in kept]
            assert other.validation == pytest.approx([curve.validation[at] for at in kept])
            assert other.test == pytest.approx([curve.test[at] for at in kept])
        found = of_run(hidden)
        mean = of_run(clear)["headline"]["personal"]["final"]["mean"]
        assert found["headline"]["personal"]["final"]["mean"] == pytest.approx(mean)
        assert found["worst_clients"] == []
    alone, summed = read_run(plain, "plain"), read_run(masked, "masked")
    assert summed.validation == pytest.approx(alone.validation)  # by which settings are chosen
    assert alone.personal
    assert summed.personal == summed.validated == {}
