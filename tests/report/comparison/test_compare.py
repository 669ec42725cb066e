"""Runs side by side: what is compared, what is averaged, and what is not."""

import json
import math
import sqlite3
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.report.comparison.compare import COLUMNS, _by_one_measure, compare, comparison
from fedkin.report.comparison.run_row import read_run
from fedkin.runs.database import MEASURES
from tests.report.comparison.compare_examples import shift
from tests.report.records_for_tests import write


def test_a_value_of_another_kind_is_damage_and_the_others_are_compared(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good"), write(tmp_path / "bad")
    with sqlite3.connect(bad / "run.db") as connection:
        connection.execute("UPDATE rounds SET seconds = '3' WHERE round = 1")
    states = list(compare([good, bad])["state"])
    assert states[0] == "finished"
    assert states[1].startswith("damaged: ")


@pytest.mark.parametrize("fact", ["values", "spec"])
def test_a_fact_of_another_kind_is_damage_as_well(fact: str, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good"), write(tmp_path / "bad")
    with sqlite3.connect(bad / "run.db") as connection:
        text = json.dumps({"method": "x"})
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (fact, text))
    states = list(compare([good, bad])["state"])
    assert states[0] == "finished"
    assert states[1].startswith("damaged: ")


def test_functions_of_one_name_in_two_modules_are_two_methods(tmp_path: Path) -> None:
    folders = [write(tmp_path / str(seed), seed=seed) for seed in (1, 2)]
    for folder, module in zip(folders, ("mine", "theirs"), strict=True):
        with sqlite3.connect(folder / "run.db") as connection:
            ((text,),) = connection.execute("SELECT value FROM facts WHERE name = 'spec'")
            spec = json.loads(text)
            spec["method"] = {"name": f"{module}:comet"}
            connection.execute(
                "UPDATE facts SET value = ? WHERE name = 'spec'", (json.dumps(spec),)
            )
    one, other = (read_run(folder, folder.name) for folder in folders)
    assert one.experiment != other.experiment
    assert one.family != other.family


def test_one_row_a_run(tmp_path: Path) -> None:
    table = compare([write(tmp_path / "x"), write(tmp_path / "y", seed=8)])
    assert list(table.columns) == COLUMNS
    row = table.iloc[0]
    assert (row["run"], row["method"], row["seed"], row["state"], row["rounds"]) == (
        "x",
        "comet",
        7,
        "finished",
        2,
    )
    assert row["personal final weighted"] == pytest.approx(0.68)
    assert row["personal best by validation mean"] == pytest.approx(0.7)
    assert row["global final mean"] == pytest.approx(0.5)
    assert (row["paper scalars"], row["unicast bytes"], row["seconds per round"]) == (460, 3040, 5)
    assert math.isnan(row["helped"])


def test_helped_and_hurt_against_local(tmp_path: Path) -> None:
    # Two clients are better than local by 0.1, one is as good as local: 2/3 helped, none hurt; then
    # one hurt.
    local = shift(write(tmp_path / "local", method="local"), [-0.1, -0.1, 0.0])
    table = compare(
        [write(tmp_path / "x"), local, shift(write(tmp_path / "y"), [0.0, -0.2, 0.0])]
    ).set_index("run")
    assert (table.loc["x", "helped"], table.loc["x", "hurt"]) == (pytest.approx(2 / 3), 0)
    assert (table.loc["y", "helped"], table.loc["y", "hurt"]) == (
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
    )
    assert math.isnan(table.loc["local", "helped"])


@pytest.mark.parametrize("other", [{"seed": 8}, {"data_digest": "d8"}, {"finished": False}])
def test_local_must_be_finished_and_on_the_same_data(
    tmp_path: Path, other: dict[str, object]
) -> None:
    local = write(tmp_path / "local", method="local", **other)  # type: ignore[arg-type]
    assert math.isnan(compare([write(tmp_path / "x"), local])["helped"][0])


def test_an_unfinished_run_has_neither_helped_nor_hurt(tmp_path: Path) -> None:
    local = shift(write(tmp_path / "local", method="local"), [-0.1, -0.1, 0.0])
    late = write(tmp_path / "late", finished=False)
    table = compare([write(tmp_path / "x"), late, local]).set_index("run")
    assert table.loc["x", "helped"] == pytest.approx(2 / 3)
    assert math.isnan(table.loc["late", "helped"])
    assert math.isnan(table.loc["late", "hurt"])


def test_a_warning_where_the_setting_differs(tmp_path: Path) -> None:
    spec = {"data": {"name": "digits"}, "split": {"name": "dirichlet", "alpha": 0.1}}
    (warning,) = comparison(
        [write(tmp_path / "x"), write(tmp_path / "y", seed=8, spec=spec)]
    ).warnings
    assert warning == "not the same client data, so the numbers do not compare: x; y"


def test_for_equal_seeds_the_digest_decides(tmp_path: Path) -> None:
    spec = {"data": {"name": "other"}, "split": {"name": "dirichlet", "alpha": 0.1}}
    assert (
        comparison([write(tmp_path / "x"), write(tmp_path / "y", split="iid", spec=spec)]).warnings
        == []
    )
    warning = comparison([write(tmp_path / "x"), write(tmp_path / "z", data_digest="d8")]).warnings[
        0
    ]
    assert "not the same client data" in warning


def test_no_hint_where_local_is_there(tmp_path: Path) -> None:
    assert (
        comparison([write(tmp_path / "x"), write(tmp_path / "local", method="local")]).hints == []
    )


def test_nothing_to_compare() -> None:
    with pytest.raises(FedkinError):
        compare([])


def by_auc(folder: Path) -> Path:
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(MEASURES)
        connection.executemany(
            "INSERT INTO measures VALUES (3, ?, 'personal', 'test', 'auc', ?)",
            [(0, 0.7), (1, 0.6), (2, 0.9)],
        )
    return folder


def test_runs_are_compared_by_the_first_measure_that_all_have(tmp_path: Path) -> None:
    one = write(tmp_path / "one", measure="accuracy")
    other = by_auc(write(tmp_path / "other", measure="auc", method="ditto"))
    assert [run.measure for run in _by_one_measure([one, other], None)] == ["accuracy"] * 2
    assert [run.measure for run in _by_one_measure([other, one], None)] == ["accuracy"] * 2
    assert [run.name for run in _by_one_measure([other, one], None)] == ["other", "one"]
    assert [run.measure for run in _by_one_measure([other], None)] == ["auc"]
    late = by_auc(write(tmp_path / "late", measure="auc", finished=False))
    assert [run.measure for run in _by_one_measure([one, late], None)] == ["accuracy", "auc"]
