"""Every number of ``summary`` against one derived by hand from the records in records_for_tests."""

import json
import math
import shutil
import sqlite3
import statistics
from contextlib import closing
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.round.panel import panel
from fedkin.experiment.run import run
from fedkin.report.intervals import over_clients
from fedkin.report.summary import other_measures, summary
from fedkin.runs.database import read_only
from tests.engine.small import small
from tests.report.records_for_tests import write

FINISH = 4  # the entry after three rounds


@pytest.fixture(scope="module")
def of_a_panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose rounds ask three of seven clients, and whose finish asks all."""
    spec = small(
        "ditto", run__evaluate="panel:3", run__clients=7, run__participation=0.4, run__seed=5
    )
    return run(spec, tmp_path_factory.mktemp("panel") / "run")


def by_client(folder: Path, at: int, view: str, split: str = "test") -> dict[int, float]:
    query = "SELECT client, accuracy FROM metrics WHERE round = ? AND view = ? AND split = ?"
    with read_only(folder) as database:
        return dict(database.rows(query, at, view, split))


def test_settings_and_progress(tmp_path: Path) -> None:
    found = summary(write(tmp_path / "one"))
    assert found["run"] == "one"
    assert (found["method"], found["hyper"], found["seed"], found["clients"]) == (
        "comet",
        {"lam": 0.5},
        7,
        3,
    )
    assert (found["data"], found["split"], found["model"]) == ("digits", "dirichlet", "dnn")
    assert (found["rounds"], found["planned"], found["finished"], found["fingerprint"]) == (
        2,
        2,
        True,
        "f00d",
    )
    json.dumps(found, allow_nan=False)


def test_final_accuracy_is_of_the_last_round_that_has_one(tmp_path: Path) -> None:
    # The finish (row 3): 0.5, 0.5, 0.8 with 10, 30, 60 test samples. Mean 1.8/3; weighted (5 + 15 +
    # 48)/100; deviations −0.1, −0.1, 0.2, so variance 0.06/3; the worst tenth of three clients is
    # one client.
    final = summary(write(tmp_path))["accuracy"]["personal"]["final"]
    assert final["round"] == 3
    assert final["mean"] == pytest.approx(0.6)
    assert final["weighted"] == pytest.approx(0.68)
    assert final["std"] == pytest.approx(math.sqrt(0.02))
    assert final["worst_decile"] == pytest.approx(0.5)
    assert (final["clients"], final["without"]) == (3, 0)


def test_best_by_validation_weights_validation_samples_and_reports_test(tmp_path: Path) -> None:
    # Validation, weights 4, 4, 8: round 1 (3 + 3 + 4)/16 = 0.625, round 2 (1 + 2 + 8)/16 = 0.6875,
    # finish 0.5. Plain means would choose round 1 (0.667 against 0.583). Test in round 2: 0.9, 0.5,
    # 0.7.
    best = summary(write(tmp_path))["accuracy"]["personal"]["best_by_validation"]
    assert best["round"] == 2
    assert best["mean"] == pytest.approx(0.7)
    assert best["weighted"] == pytest.approx((9 + 15 + 42) / 100)


def test_best_on_test_is_the_highest_mean(tmp_path: Path) -> None:
    # Means 0.8, 0.7, 0.6.
    best = summary(write(tmp_path))["accuracy"]["personal"]["best_on_test"]
    assert (best["round"], best["mean"], best["worst_decile"]) == (
        1,
        pytest.approx(0.8),
        pytest.approx(0.6),
    )


def test_views_are_kept_apart(tmp_path: Path) -> None:
    found = summary(write(tmp_path))["accuracy"]
    assert list(found) == ["personal", "global"]
    assert found["global"]["final"]["mean"] == pytest.approx(0.5)


def test_loss_has_its_worst_decile_at_the_top(tmp_path: Path) -> None:
    # 1, 2, 3 with weights 10, 30, 60: weighted (10 + 60 + 180)/100.
    final = summary(write(tmp_path))["loss"]["personal"]["final"]
    assert (final["mean"], final["weighted"], final["worst_decile"]) == (
        2.0,
        pytest.approx(2.5),
        3.0,
    )
    assert final["std"] == pytest.approx(math.sqrt(2 / 3))


def test_regression_has_losses_only(tmp_path: Path) -> None:
    found = summary(write(tmp_path, accuracy=False))
    assert found["accuracy"] == {}
    assert found["loss"]["global"]["final"]["mean"] == 2.0


def test_communication(tmp_path: Path) -> None:
    # Two rounds, in each: down 3 × 100 parameters, of which 2 are one broadcast with 1 control
    # scalar; up 3 × (10 predictions and 1 control). Bytes: down 450 + 450 + 440, up 3 × 60.
    # ``paper``: no second copy, no control.
    found = summary(write(tmp_path))["communication"]
    unicast, paper = found["unicast"], found["paper"]
    assert unicast["scalars"] == {"up": 66, "down": 604, "total": 670}
    assert unicast["bytes"] == {"up": 360, "down": 2680, "total": 3040}
    assert unicast["by_kind"]["control"] == {"up": 6, "down": 4, "total": 10}
    assert unicast["by_kind"]["parameters"] == {"up": 0, "down": 600, "total": 600}
    assert paper["scalars"] == {"up": 60, "down": 400, "total": 460}
    assert paper["bytes"] == {"up": 360, "down": 1780, "total": 2140}
    assert paper["by_kind"]["predictions"] == {"up": 60, "down": 0, "total": 60}
    assert "control" not in paper["by_kind"]


def test_setup_and_finish_stand_beside_the_totals(tmp_path: Path) -> None:
    found = summary(write(tmp_path))["communication"]
    assert found["setup"]["unicast"]["scalars"] == {"up": 6, "down": 0, "total": 6}
    assert found["setup"]["unicast"]["bytes"]["total"] == 60
    assert found["finish"]["unicast"]["bytes"]["total"] == 1320
    assert found["finish"]["paper"]["bytes"]["total"] == 440  # one copy of the broadcast


def test_seconds(tmp_path: Path) -> None:
    # Totals 1 + 4 + 6 + 3; the median over the two ROUNDS is 5.
    assert summary(write(tmp_path))["seconds"] == {
        "total": 14.0,
        "per_round": 5.0,
        "local": 7.0,
        "server": 1.0,
        "evaluation": 4.0,
    }


def test_missing_and_extras_name_the_clients(tmp_path: Path) -> None:
    found = summary(write(tmp_path))
    assert found["missing"] == [{"round": 2, "client": "b", "reason": "timed out"}]
    assert found["extras"] == {
        "cluster": {"a": 1, "b": 1},  # a moved in round 2, b was last heard of in round 1
        "K": {"federation": 2},
        "membership": {"c": [0.2, 0.8]},
    }


def test_unfinished_run_is_summed_up_as_far_as_it_is(tmp_path: Path) -> None:
    found = summary(write(tmp_path, finished=False, until=1))
    assert (found["finished"], found["rounds"], found["planned"], found["fingerprint"]) == (
        False,
        1,
        2,
        None,
    )
    assert found["accuracy"]["personal"]["final"]["round"] == 1


def test_run_without_any_round(tmp_path: Path) -> None:
    found = summary(write(tmp_path, finished=False, until=0))
    assert (found["accuracy"], found["loss"], found["rounds"]) == ({}, {}, 0)
    assert found["seconds"]["per_round"] is None


def test_absent_facts_are_none(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("DELETE FROM facts WHERE name != 'version'")
    found = summary(folder)
    assert (found["method"], found["planned"], found["finished"], found["clients"]) == (
        None,
        None,
        False,
        3,
    )


@pytest.mark.parametrize("wrong", ["no folder", "garbage", "cut", "json", "attacker"])
def test_damaged_runs_say_so(tmp_path: Path, wrong: str) -> None:
    path = write(tmp_path) / "run.db"
    if wrong == "no folder":
        path.unlink()
    elif wrong == "garbage":
        path.write_bytes(b"not a database" * 99)
    elif wrong == "cut":
        path.write_bytes(path.read_bytes()[: 3 * path.stat().st_size // 4])
    else:
        changes = {
            "json": "UPDATE notes SET value = '[0.2,' WHERE name = 'membership'",
            "attacker": "UPDATE notes SET name = 'attacker' WHERE name = 'membership'",
        }
        with sqlite3.connect(path) as connection:
            connection.execute(changes[wrong])
    with pytest.raises(FedkinError):
        summary(tmp_path)


def test_a_reason_is_cut_where_it_does_not_end(tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute("UPDATE events SET text = ?", ("x" * 500_000,))
    assert {len(event["reason"]) for event in summary(run)["missing"]} == {2001}


def test_who_attacks_is_left_out_of_the_honest_mean(tmp_path: Path) -> None:
    """The finish has 0.5, 0.5 and 0.8; the third attacks, and was told of twice."""
    run = write(tmp_path / "run")
    assert summary(run)["honest"] is None
    with sqlite3.connect(run / "run.db") as connection:
        told = [(1, 0, "attacker", "0.0"), (1, 1, "attacker", "0.0"), (1, 2, "attacker", "1.0")]
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", [*told, (2, *told[2][1:])])
    found = summary(run)["honest"]
    assert (found["clients"], found["attackers"]) == (2, 1)
    assert found["views"] == {"personal": pytest.approx(0.5), "global": pytest.approx(0.4)}


def test_a_global_view_that_is_the_personal_one_is_left_out() -> None:
    picks = {"final": {"mean": 0.5}}
    other = {"auc": {"mean": 0.7}, "se": {"mean": 0.1}}
    found = {
        "measure": "accuracy",
        "measures": {"personal": other, "global": dict(other)},
        "accuracy": {"personal": picks, "global": picks},
        "loss": {"personal": {"final": 1}, "global": {"final": 1}},
    }
    assert other_measures(found) == {"personal": {"log_loss": 1, "auc": {"mean": 0.7}}}
    found["loss"]["global"] = {"final": 2}
    assert other_measures(found).keys() == {"personal", "global"}


def test_the_best_round_is_the_panels_and_has_an_interval(of_a_panel: Path) -> None:
    """Among the rounds are two of everybody: compared by the panel too."""
    chosen = panel("panel:3", range(7), 5)
    with read_only(of_a_panel) as database:
        rows = dict(database.rows("SELECT client, val FROM clients"))
    validation = {}
    for at in range(1, FINISH + 1):
        known = by_client(of_a_panel, at, "personal", "val")
        validation[at] = sum(known[k] * rows[k] for k in chosen) / sum(rows[k] for k in chosen)
    best = max(validation, key=lambda at: (round(validation[at], 12), -at))
    told = summary(of_a_panel)
    found = told["headline"]["personal"]["best_by_validation"]
    test = {k: v for k, v in by_client(of_a_panel, best, "personal").items() if k in chosen}
    assert found["round"] == best
    assert found["clients"] == 3
    assert found["mean"] == pytest.approx(statistics.fmean(test.values()), abs=1e-12)
    assert tuple(found["interval"]) == over_clients(test)
    final = told["headline"]["personal"]["final"]
    assert final["clients"] == 7
    assert tuple(final["interval"]) == over_clients(by_client(of_a_panel, FINISH, "personal"))
    assert told["evaluated"] == {"who": "panel", "clients": 3, "of": 7}


def test_who_is_not_of_the_panel_does_not_choose_the_round(
    of_a_panel: Path, tmp_path: Path
) -> None:
    """The others are best in round 3, the panel in round 2."""
    folder = shutil.copytree(of_a_panel, tmp_path / "run")
    chosen = panel("panel:3", range(7), 5)
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        for at, theirs, others in ((1, 0.3, 0.0), (2, 0.5, 0.0), (3, 0.1, 1.0), (4, 0.4, 0.4)):
            database.execute("UPDATE metrics SET accuracy = ? WHERE round = ?", (others, at))
            of_panel = f"client IN ({', '.join(map(str, chosen))})"
            database.execute(
                f"UPDATE metrics SET accuracy = ? WHERE round = ? AND {of_panel}", (theirs, at)
            )
    picks = summary(folder)["headline"]["personal"]
    assert [picks[name]["round"] for name in ("best_by_validation", "best_on_test")] == [2, 2]
    assert picks["best_by_validation"]["mean"] == 0.5
    assert picks["final"]["mean"] == pytest.approx(0.4)
