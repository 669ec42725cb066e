"""Scores over rounds, with the line of a chosen client."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from fedkin.report.charts.rounds import lines, over_rounds
from fedkin.report.matrix import Matrix
from fedkin.report.page.report import write_report
from tests.report.page.report_examples import parsed
from tests.report.records_for_tests import write


def test_chosen_clients_have_their_line(tmp_path: Path) -> None:
    scripts = parsed(write_report(write(tmp_path))).scripts
    places = {figure["name"]: figure["own"] for figure in json.loads(scripts["figures"])}
    assert places["rounds"] == places["own-score"]  # held once
    line = json.loads(scripts["owns"])[places["rounds"]]
    assert (line["columns"], line["keys"], line["scale"]) == (
        ["round", "value"],
        [[1], [2], [3]],
        1e-4,
    )
    assert line["values"]["c"] == [8000, 7000, 8000]


def ended_early(folder: Path) -> Path:
    """Of 40 planned rounds two; the finish keeps the number 41."""
    write(folder, rounds=40)
    with sqlite3.connect(folder / "run.db") as database:
        for table in ("rounds", "metrics", "messages"):
            database.execute(f"UPDATE {table} SET round = 41 WHERE round = 3")
        database.execute("INSERT INTO notes VALUES (41, 0, 'share', '0.5')")
        database.execute("INSERT INTO notes VALUES (2, 0, 'share', '0.25')")
    return folder


def test_the_finish_of_a_run_that_ended_early_follows_its_last_round(tmp_path: Path) -> None:
    scripts = parsed(write_report(ended_early(tmp_path / "run"))).scripts
    figures = {figure["name"]: figure for figure in json.loads(scripts["figures"])}
    for name in ("rounds", "own-score", "note-share"):
        found = {row["round"] for row in figures[name]["spec"]["datasets"]["rows"]}
        assert max(found) == 3, name
    assert "Round 3 is the finish, after the last round." in figures["rounds"]["note"]
    assert json.loads(scripts["owns"])[figures["rounds"]["own"]]["keys"] == [[1], [2], [3]]


def test_the_line_of_a_client_is_no_zero_in_small_units() -> None:
    matrix = Matrix([1, 2], [4, 2], np.array([[1.2346e-7, 3.0e-8], [np.nan, 0.0]]))
    line = lines(matrix, str)
    assert line.scale == pytest.approx(1e-10)
    assert line.values == {"4": [1235, None], "2": [300, 0]}
    assert lines(Matrix([1], [4], np.array([[0.0]])), str).scale == 1e-4


@pytest.mark.parametrize(("rounds", "points"), [(1, True), (30, True), (31, False)])
def test_a_short_line_has_points(rounds: int, points: bool) -> None:
    scores = np.linspace(0.1, 0.9, 2 * rounds).reshape(rounds, 2)
    matrices = {"personal": Matrix(list(range(1, rounds + 1)), [4, 2], scores)}
    spec = over_rounds(matrices, "accuracy", rounds, None).spec
    drawn = [layer["mark"] for layer in spec["layer"] if layer["mark"].get("type") == "line"]
    assert drawn
    assert {line["point"] for line in drawn} == {points}
    assert any(layer["mark"]["type"] == "area" for layer in spec["layer"]) == (rounds > 1)
