"""Tables of a comparison."""

import math
import sqlite3
from pathlib import Path

import pytest

from fedkin.report.comparison import tables
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import write_comparison
from tests.report.comparison.compare_examples import printed, shift
from tests.report.records_for_tests import FACTS, write


def test_points_that_round_to_nothing_have_no_sign_below_zero() -> None:
    values = (-1e-9, 0.0, 1e-9, -0.0123, 0.0123, None, math.nan)
    said = ["+0.00", "+0.00", "+0.00", "-1.23", "+1.23", "–", "–"]
    assert [tables._points(one) for one in values] == said


def test_what_an_experiment_has_not_is_one_dash() -> None:
    known = {"global final weighted": 0.65, "global final weighted sd": 0.0707}
    unknown = dict.fromkeys(known, math.nan)
    assert tables.spread("global final weighted", known, "accuracy") == "65.00 ± 7.07"
    assert tables.spread("global final weighted", unknown, "accuracy") == "–"


def test_seeds_are_averaged_with_the_sample_deviation(tmp_path: Path) -> None:
    # Means 0.6 and 0.7 (every client 0.1 better): 0.65, deviation √(2 · 0.05²) = 0.0707.
    runs = [write(tmp_path / "x"), shift(write(tmp_path / "y", seed=8), [0.1, 0.1, 0.1])]
    found = comparison(runs)
    assert found.warnings == []
    (row,) = found.seeds.to_dict("records")
    assert (row["method"], row["seeds"]) == ("comet", [7, 8])
    assert row["personal final mean"] == pytest.approx(0.65)
    assert row["personal final mean sd"] == pytest.approx(0.1 / math.sqrt(2))
    assert "65.00 ± 7.07" in printed(tables.compare(found), 160)


def test_runs_of_different_experiments_are_not_averaged(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / "x"),
        write(tmp_path / "y", seed=8, hyper={"lam": 0.6}),
        write(tmp_path / "z", seed=9, rounds=3),
    ]
    assert len(comparison(runs).seeds) == 0


def test_unfinished_and_damaged_runs_are_shown_and_never_averaged_in(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / "x"),
        write(tmp_path / "y", seed=8, finished=False, until=1),
        tmp_path / "nothing",
    ]
    found = comparison(runs)
    states = list(found.runs["state"])
    assert states[:2] == ["finished", "unfinished: round 1 of 2"]
    assert states[2].startswith("damaged: ")
    assert len(found.seeds) == 0
    text = printed(tables.compare(found))
    assert "y is unfinished: round 1 of 2" in text
    assert "nothing is damaged" in text


def test_the_same_seed_counts_once(tmp_path: Path) -> None:
    found = comparison(
        [
            write(tmp_path / "x"),
            write(tmp_path / "y"),
            shift(write(tmp_path / "z", seed=8), [0.1] * 3),
        ]
    )
    assert found.seeds["personal final mean"][0] == pytest.approx(0.65)
    assert any("x, y" in warning for warning in found.warnings)


def test_a_public_set_is_named_as_the_reason(tmp_path: Path) -> None:
    local = write(tmp_path / "local", method="local", hyper={}, data_digest="d8")
    held = {**FACTS["spec"], "public": {"source": "held-out", "samples": None, "labeled": False}}
    found = comparison([write(tmp_path / "comet", spec=held), local])
    (warning,) = found.warnings
    assert "comet holds public samples out; run local with --public held-out to compare" in warning
    (hint,) = found.hints
    assert hint.endswith("fedkin run --method local … --seed 7 --public held-out")
    assert hint in printed(tables.compare(found), 200)


def test_other_numbers_of_rounds_are_told_beside_the_table_and_in_the_page(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / "x"),
        write(tmp_path / "local", method="local"),
        write(tmp_path / "half", finished=False),
    ]
    assert comparison(runs).warnings == []
    runs.append(write(tmp_path / "longer", method="local", hyper={}))
    with sqlite3.connect(runs[-1] / "run.db") as connection:
        connection.execute(
            "INSERT INTO rounds SELECT 4, phase, participants, seconds FROM rounds WHERE round = 3"
        )
        connection.execute("UPDATE rounds SET phase = 'round' WHERE round = 3")
        connection.execute("UPDATE facts SET value = '3' WHERE name = 'rounds'")
    found = comparison(runs)
    sentence = "not the same number of rounds, so a difference may be one of training longer: "
    sentence += "2 rounds: x, local; 3 rounds: longer"
    assert sentence in found.warnings
    assert sentence in tables.markdown(found)
    assert sentence in printed(tables.compare(found), 300)
    assert sentence in write_comparison(found, tmp_path / "page.html").read_text()
