"""Runs against a baseline, and the choice among settings, by numbers worked out by hand."""

import json
import math
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.report.comparison import tables
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.paired import (
    best_of,
    excludes_zero,
    gain_of,
    pairs_of,
    statistics,
)
from fedkin.report.comparison.rank_table import rank_table
from fedkin.report.intervals import Pair, interval, over_seeds_and_clients, student
from fedkin.runs.record import FEDERATION
from tests.cli.command import fedkin, told
from tests.report.comparison.compare_examples import printed
from tests.report.comparison.test_compare import shift
from tests.report.records_for_tests import FACTS, write


def validated(folder: Path, by: float) -> Path:
    """Add to the final personal validation accuracies."""
    with sqlite3.connect(folder / "run.db") as connection:
        query = (
            "UPDATE metrics SET accuracy = accuracy + ? "
            "WHERE round = 3 AND split = 'val' AND view = 'personal'"
        )
        connection.execute(query, (by,))
    return folder


def lam(folder: Path, value: float, **facts: Any) -> Path:
    return write(folder, hyper={"lam": value}, **facts)


# --- statistics


def pairs(*seeds: Iterable[float]) -> dict[Pair, float]:
    """Differences, one a client of each seed, who is nobody else's."""
    return {
        Pair(seed, (seed, client)): float(value)
        for seed, values in enumerate(seeds)
        for client, value in enumerate(values)
    }


def test_interval_by_hand() -> None:
    # Two differences 0 and 0.2: their mean's standard error is 0.1, Student's t with one degree
    # 12.706.
    assert interval(np.array([0.0, 0.2])) == pytest.approx((0.1 - 1.2706, 0.1 + 1.2706), abs=1e-4)
    assert interval(np.array([0.1, 0.1, 0.1])) == (0.1, 0.1)
    assert interval(np.array([0.1])) == (None, None)
    # Many differences: mean ± 1.96 sd / √n, and the same again.
    apart = np.array([0.0, 0.1] * 200)
    low, high = interval(apart)
    assert low == pytest.approx(0.05 - 1.96 * 0.05 / math.sqrt(400), abs=3e-4)
    assert high == pytest.approx(0.05 + 1.96 * 0.05 / math.sqrt(400), abs=3e-4)
    assert interval(apart) == (low, high)


def test_shares_of_a_loss_count_the_other_way() -> None:
    apart = pairs([-0.1, -0.2, 0.3, 0.0])
    accuracy, loss = statistics(apart, "accuracy"), statistics(apart, "loss")
    assert (accuracy["better"], accuracy["worse"]) == (0.25, 0.5)
    assert (loss["better"], loss["worse"]) == (0.5, 0.25)
    assert loss["difference"] == accuracy["difference"] == pytest.approx(0.0)


def test_no_end_of_an_interval_goes_beyond_the_largest_difference() -> None:
    few = statistics(pairs([0.0, 0.2]), "accuracy")
    assert (few["low"], few["high"]) == (-1.0, 1.0)
    error = statistics(pairs([0.0, 0.2]), "rmse")  # which has no largest
    assert (error["low"], error["high"]) == interval(np.array([0.0, 0.2]))


# --- against a baseline


def test_against_local_client_by_client(tmp_path: Path) -> None:
    # local has 0.5, 0.5, 0.8; the run is better by 0.3, 0.2, 0.1: mean 0.2, p = 2 / 2^3, all
    # helped.
    runs = [
        shift(write(tmp_path / "x"), [0.3, 0.2, 0.1]),
        write(tmp_path / "l", method="local", hyper={}),
    ]
    found = comparison(runs)
    assert found.baseline == "local"
    (row,) = found.against.to_dict("records")
    assert (row["method"], row["seeds"], row["clients"], row["measure"]) == (
        "comet",
        [7],
        3,
        "accuracy",
    )
    assert row["difference"] == pytest.approx(0.2)
    assert row["p"] == pytest.approx(0.25)
    assert (row["better"], row["worse"]) == (1, 0)
    half = 4.3027 * 0.1 / 3**0.5  # Student's t with two degrees
    assert (row["low"], row["high"]) == pytest.approx((0.2 - half, 0.2 + half), abs=1e-4)
    text = printed(tables.compare(found), 160)
    assert "Client by client against local" in text
    assert "+20.00" in text
    assert "0.2500" in text


def test_shares_are_of_the_pairs_of_all_seeds(tmp_path: Path) -> None:
    # Seed 7: +0.1, +0.2, 0; seed 8: −0.1, 0, 0: mean 0.2 / 6, better 2/6, worse 1/6.
    runs = [
        shift(write(tmp_path / "x7"), [0.1, 0.2, 0.0]),
        shift(write(tmp_path / "x8", seed=8), [-0.1, 0.0, 0.0]),
    ]
    runs += [write(tmp_path / f"l{seed}", method="local", seed=seed) for seed in (7, 8)]
    (row,) = comparison(runs).against.to_dict("records")
    assert (row["clients"], row["seeds"]) == (6, [7, 8])
    assert row["difference"] == pytest.approx(0.2 / 6)
    assert (row["better"], row["worse"]) == (pytest.approx(2 / 6), pytest.approx(1 / 6))
    apart = [np.array([0.1, 0.2, 0.0]), np.array([-0.1, 0.0, 0.0])]
    assert (row["low"], row["high"]) == pytest.approx(over_seeds_and_clients(apart))
    assert row["p"] is None


def test_clients_of_one_seed_are_no_sample_of_other_seeds() -> None:
    # A lucky model is lucky for all its clients: sixty pairs, and yet three numbers.
    three = [np.linspace(-0.02, 0.02, 20) + luck for luck in (0.2, 0.1, -0.02)]
    found = statistics(pairs(*three), "accuracy")
    pooled = statistics(pairs(np.concatenate(three)), "accuracy")
    assert found["difference"] == pytest.approx(pooled["difference"])
    assert excludes_zero(pooled)
    assert pooled["p"] is not None
    assert pooled["p"] < 1e-4
    assert not excludes_zero(found)
    half = 4.30 * 0.11 / 3**0.5  # Student's t of three means with an sd of 0.11
    ends = (0.28 / 3 - half, 0.28 / 3 + half)
    assert (found["low"], found["high"]) == pytest.approx(ends, abs=0.01)
    assert found["p"] is None


def test_each_seed_counts_the_same_however_many_clients_it_has() -> None:
    found = statistics(pairs(np.full(3, 0.1), np.full(9, 0.5)), "accuracy")
    assert found["difference"] == pytest.approx(0.3)
    assert found["clients"] == 12


def test_natural_clients_are_drawn_once_for_all_seeds(tmp_path: Path) -> None:
    # The same three persons: +0.0, +0.1 and 0 in the mean of the seeds, whose own means are +0.1
    # and −0.1 / 3.
    runs = [
        shift(write(tmp_path / "x7", split="natural"), [0.1, 0.2, 0.0]),
        shift(write(tmp_path / "x8", split="natural", seed=8), [-0.1, 0.0, 0.0]),
    ]
    runs += [
        write(tmp_path / f"l{seed}", method="local", split="natural", seed=seed) for seed in (7, 8)
    ]
    found = comparison(runs)
    (row,) = found.against.to_dict("records")
    assert (row["clients"], row["seeds"]) == (6, [7, 8])
    assert row["difference"] == pytest.approx(0.1 / 3)
    assert (row["better"], row["worse"]) == (pytest.approx(2 / 6), pytest.approx(1 / 6))
    between = (0.4 / 3 / 2) ** 2  # of two means that are 0.4 / 3 apart: one degree of freedom
    within = (0.1 / 3) ** 2  # of 0, 0.1, 0: two degrees
    degrees = (between + within) ** 2 / (between**2 / 1 + within**2 / 2)
    half = student(degrees) * math.sqrt(between + within)
    assert row["high"] == pytest.approx(0.1 / 3 + half, abs=1e-4)
    assert row["p"] is None
    assert pairs_of(found.pairs[0]) == "pair"
    ranks = rank_table(found).rows
    assert {cells[4] for cells in ranks} == {"16.97 … 100.00 %", "25.39 … 100.00 %"}


def test_the_baseline_is_what_was_named_else_local_else_the_first(tmp_path: Path) -> None:
    x, y = write(tmp_path / "x"), write(tmp_path / "y", method="fedavg")
    local = write(tmp_path / "l", method="local")
    assert comparison([x, y, local]).baseline == "local"
    assert comparison([x, y]).baseline == "comet"
    assert list(comparison([x, y, local], "fedavg").against["method"]) == ["comet", "local"]
    assert list(comparison([x, y, local], "y").against["method"]) == ["comet", "local"]
    with pytest.raises(
        FedkinError, match="--against persfl: no finished run of it is among these: comet, fedavg"
    ):
        comparison([x, y], "persfl")
    plain = write(tmp_path / "plain", method="fedavg")
    with pytest.raises(FedkinError, match=r"fedavg \(by name: plain\): did you mean 'plain'\?$"):
        comparison([plain], "plane")


def test_what_cannot_be_paired_is_said(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / "x"),
        write(tmp_path / "y", seed=8),
        write(tmp_path / "l", method="local"),
    ]
    found = comparison(runs)
    assert found.against["seeds"].tolist() == [[7]]
    assert found.warnings == ["no finished run of local with the seed and client data of y"]
    other = comparison([write(tmp_path / "a", data_digest="d8"), tmp_path / "l"])
    assert len(other.against) == 0
    assert other.warnings == ["not the same client data, so the numbers do not compare: a; l"]


def test_unfinished_and_damaged_runs_are_in_no_pair(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / "l", method="local"),
        write(tmp_path / "x", finished=False, until=1),
        tmp_path / "nothing",
    ]
    found = comparison(runs)
    assert len(found.against) == 0
    assert len(found.runs) == 3
    with pytest.raises(FedkinError, match="no finished run"):
        comparison(runs, "comet")
    assert comparison(runs[1:]).baseline == ""


def masked(folder: Path, **facts: Any) -> Path:
    """Of secure aggregation the federation's means are known, and no client's score."""
    with sqlite3.connect(write(folder, **facts) / "run.db") as connection:
        connection.execute("DELETE FROM metrics WHERE client > 0")
        connection.execute("UPDATE metrics SET client = ?", (FEDERATION,))
    return folder


def test_a_run_with_secure_aggregation_is_named_and_in_no_pair(tmp_path: Path) -> None:
    hidden, x = masked(tmp_path / "masked", model="cnn"), write(tmp_path / "x")
    local = write(tmp_path / "l", method="local")
    said = (
        "masked: scores of single clients are hidden by secure aggregation, so it is neither "
        "ranked nor paired"
    )
    found = comparison([hidden, x, local])
    assert found.against["clients"].tolist() == [3]
    assert found.warnings == [said]
    assert comparison([hidden, x]).baseline == "comet model = dnn"
    beside = comparison([hidden, x, local], against="masked")
    assert len(beside.against) == 0
    assert beside.warnings == [said]
    assert comparison([hidden, masked(tmp_path / "again")]).pairs == []


def test_runs_without_a_client_in_common_are_no_row_of_no_pairs(tmp_path: Path) -> None:
    x, local = write(tmp_path / "x"), write(tmp_path / "l", method="local")
    for run, without in ((x, "client = 0"), (local, "client > 0")):
        with sqlite3.connect(run / "run.db") as connection:
            connection.execute(f"UPDATE metrics SET accuracy = NULL WHERE {without}")
    found = comparison([x, local])
    assert len(found.against) == 0
    assert found.warnings[-1] == "no client has a test accuracy both in x and in local"


def test_masked_runs_go_by_the_measure_that_the_others_have(tmp_path: Path) -> None:
    x = write(tmp_path / "x")
    y = write(tmp_path / "y", method="local", accuracy=False)
    found = comparison([x, y, masked(tmp_path / "masked")])
    assert [one.measure for one in found.seen] == ["loss"] * 3


def test_a_regression_is_compared_by_loss(tmp_path: Path) -> None:
    x, local = (
        write(tmp_path / "x", accuracy=False),
        write(tmp_path / "l", method="local", accuracy=False),
    )
    with sqlite3.connect(x / "run.db") as connection:
        connection.execute(
            "UPDATE metrics SET loss = loss - 0.5 WHERE client = 0 AND split = 'test'"
        )
    found = comparison([x, local])
    (row,) = found.against.to_dict("records")
    assert (row["measure"], row["difference"], row["better"]) == (
        "loss",
        pytest.approx(-0.5 / 3),
        pytest.approx(1 / 3),
    )
    assert found.hints == []
    assert "-0.1667" in printed(tables.compare(found), 160)


# --- the choice among settings


def test_validation_chooses_and_test_is_not_asked(tmp_path: Path) -> None:
    # λ = 0.5 is better on test, λ = 2 on validation: the second stays. All samples' validation
    # accuracy is 0.5 + 0.1.
    runs = [
        shift(lam(tmp_path / "a", 0.5), [0.2, 0.2, 0.2]),
        validated(lam(tmp_path / "b", 2.0), 0.1),
    ]
    runs += [write(tmp_path / "l", method="local", hyper={})]
    found = comparison(runs, best=True)
    assert list(found.runs["run"]) == ["b", "l"]
    rows = found.choice.to_dict("records")
    assert [(row["setting"], row["chosen"]) for row in rows] == [
        ("lam = 0.5", False),
        ("lam = 2.0", True),
    ]
    assert [row["validation"] for row in rows] == [pytest.approx(0.5), pytest.approx(0.6)]
    assert found.against["difference"].tolist() == [0.0]
    assert "chosen" in printed(tables.compare(found), 160)
    assert len(comparison(runs).choice) == 0
    assert len(comparison(runs).runs) == 3


def test_validation_accuracy_is_weighted_by_validation_samples(tmp_path: Path) -> None:
    # Clients have 4, 4, 8 validation samples and 0.5 each; +0.2 for the third alone: 0.5 + 0.2 · 8
    # / 16 = 0.6.
    runs = [lam(tmp_path / "a", 0.5), lam(tmp_path / "b", 2.0)]
    with sqlite3.connect(runs[1] / "run.db") as connection:
        connection.execute(
            "UPDATE metrics SET accuracy = accuracy + 0.2 "
            "WHERE round = 3 AND client = 2 AND split = 'val'"
        )
    assert comparison(runs, best=True).choice["validation"].tolist() == [
        pytest.approx(0.5),
        pytest.approx(0.6),
    ]


def test_settings_are_compared_on_the_seeds_that_they_share(tmp_path: Path) -> None:
    # On seed 7 λ = 0.5 is better; λ = 2 has a lucky seed 8 that the other has not.
    runs = [validated(lam(tmp_path / "a", 0.5), 0.1), lam(tmp_path / "b", 2.0)]
    runs += [validated(lam(tmp_path / "b8", 2.0, seed=8), 0.4)]
    found = comparison(runs, best=True)
    assert list(found.runs["run"]) == ["a"]
    assert found.choice["seeds"].tolist() == [[7], [7]]
    apart = comparison([runs[0], runs[2]], best=True)
    assert len(apart.choice) == 0
    assert "comet: no setting is chosen, for they have no seed in common" in apart.warnings


def test_only_hyper_parameters_are_chosen(tmp_path: Path) -> None:
    train = {**FACTS["spec"], "train": {"steps": 9}}
    plain = write(tmp_path / "a", spec={**FACTS["spec"], "train": {"steps": 4}})
    tuned = validated(write(tmp_path / "b", spec=train), 0.1)
    split = {**FACTS["spec"], "split": {"name": "dirichlet", "alpha": 9.0}}
    for other in (
        {"model": "cnn"},
        {"rounds": 9},
        {"participation": 0.5},
        {"data_digest": "d8", "spec": split},
    ):
        rival = validated(write(tmp_path / "-".join(other), **other), 0.4)  # type: ignore[arg-type]
        found = comparison([plain, tuned, rival], best=True)
        assert found.runs["run"][0] == "b", other
        assert len(found.runs) == 2
        assert found.choice["setting"].tolist()[1].startswith("train.steps = 9")


def test_a_setting_without_validation_data_cannot_be_chosen(tmp_path: Path) -> None:
    runs = [lam(tmp_path / "a", 0.5), lam(tmp_path / "b", 2.0)]
    with sqlite3.connect(runs[1] / "run.db") as connection:
        connection.execute("DELETE FROM metrics WHERE split = 'val'")
    found = comparison(runs, best=True)
    assert len(found.runs) == 2
    assert "comet: no setting is chosen, for a setting has no validation score" in found.warnings


# --- the command


def test_the_command_writes_markdown_and_json(tmp_path: Path) -> None:
    folders = [
        shift(lam(tmp_path / "a|b", 0.5), [0.3, 0.2, 0.1]),
        write(tmp_path / "l", method="local"),
        write(tmp_path / "u", finished=False, until=1),
    ]
    page = tmp_path / "page.md"
    assert fedkin("compare", *folders, "--markdown", page).stdout.strip() == str(page)
    text = page.read_text()
    assert (
        "| method | setting | seeds | pairs | mean difference | 95% interval | p | better % "
        "| worse % |" in text
    )
    assert "| comet |  | 1 (7) | 3 | +20.00 |" in text
    assert "| a\\|b | comet |" in text
    assert "- u is unfinished: round 1 of 2" in text
    found = json.loads(fedkin("compare", *folders, "--against", "local", "--json").stdout)
    assert found["baseline"] == "local"
    assert found["against"][0]["p"] == 0.25
    first, second = found["ranks"]
    assert (first["method"], first["rank"], first["tie"], first["mean"]) == ("comet", 1, True, 0.8)
    assert (second["method"], second["rank"], second["seeds"]) == ("local", 1, [7])
    assert first["low"] < 0.8 < first["high"]
    assert first["low over seeds"] is first["high over seeds"] is None
    assert [run["run"] for run in found["runs"]] == ["a|b", "l", "u"]
    assert found["warnings"] == ["u is unfinished: round 1 of 2"]
    assert told("compare", *folders, "--against", "comte").startswith(
        "--against comte: no finished run"
    )


def test_one_file_for_two_kinds_of_page(tmp_path: Path) -> None:
    page = tmp_path / "page"
    said = told(
        "compare", write(tmp_path / "a"), "--markdown", page, "--html", tmp_path / "." / "page"
    )
    assert said == f"--markdown and --html both name {page}: give each a file of its own"
    assert not page.exists()


def test_the_best_experiment_is_the_one_that_gains_most() -> None:
    def row(measure: str, difference: float | None) -> dict[str, Any]:
        return {"measure": measure, "difference": difference}

    accuracies = [row("accuracy", None), row("accuracy", -0.3), row("accuracy", 0.1)]
    assert best_of(accuracies) is accuracies[2]
    errors = [row("rmse", 0.2), row("rmse", -0.4), row("rmse", None)]
    assert best_of(errors) is errors[1]
    assert gain_of(errors[1]) == 0.4
    assert best_of(accuracies[:1]) is best_of([]) is None
