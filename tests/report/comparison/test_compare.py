"""Runs side by side: what is compared, what is averaged, and what is not."""

import math
import sqlite3
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from fedkin.core.errors import FedkinError
from fedkin.report import terminal_tables
from fedkin.report.comparison import tables as sheets
from fedkin.report.comparison.compare import COLUMNS, compare, comparison
from fedkin.report.comparison.page import write_comparison
from fedkin.report.comparison.run_row import look
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from tests.report.records_for_tests import FACTS, write


def shift(folder: Path, by: list[float]) -> Path:
    """Add to the clients' personal test accuracies in every round."""
    with sqlite3.connect(folder / "run.db") as connection:
        for client, change in enumerate(by):
            change_it = (
                "UPDATE metrics SET accuracy = accuracy + ? WHERE client = ? AND "
                "split = 'test' AND view = 'personal'"
            )
            connection.execute(change_it, (change, client))
    return folder


def printed(renderable: object, width: int = 120) -> str:
    out = StringIO()
    Console(file=out, width=width).print(renderable)
    return out.getvalue()


def test_a_value_of_another_kind_is_damage_and_the_others_are_compared(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good"), write(tmp_path / "bad")
    with sqlite3.connect(bad / "run.db") as connection:
        connection.execute("UPDATE rounds SET seconds = '3' WHERE round = 1")
    states = list(compare([good, bad])["state"])
    assert states[0] == "finished"
    assert states[1].startswith("damaged: ")


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


def test_seeds_are_averaged_with_the_sample_deviation(tmp_path: Path) -> None:
    # Means 0.6 and 0.7 (every client 0.1 better): 0.65, deviation √(2 · 0.05²) = 0.0707.
    runs = [write(tmp_path / "x"), shift(write(tmp_path / "y", seed=8), [0.1, 0.1, 0.1])]
    found = comparison(runs)
    assert found.warnings == []
    (row,) = found.seeds.to_dict("records")
    assert (row["method"], row["seeds"]) == ("comet", [7, 8])
    assert row["personal final mean"] == pytest.approx(0.65)
    assert row["personal final mean sd"] == pytest.approx(0.1 / math.sqrt(2))
    assert "65.00 ± 7.07" in printed(sheets.compare(found), 160)


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
    text = printed(sheets.compare(found))
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


def test_a_public_set_is_named_as_the_reason(tmp_path: Path) -> None:
    local = write(tmp_path / "local", method="local", hyper={}, data_digest="d8")
    held = {**FACTS["spec"], "public": {"source": "held-out", "samples": None, "labeled": False}}
    found = comparison([write(tmp_path / "comet", spec=held), local])
    (warning,) = found.warnings
    assert "comet holds public samples out; run local with --public held-out to compare" in warning
    (hint,) = found.hints
    assert hint.endswith("fedkin run --method local … --seed 7 --public held-out")
    assert hint in printed(sheets.compare(found), 200)


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
    assert sentence in sheets.markdown(found)
    assert sentence in printed(sheets.compare(found), 300)
    assert sentence in write_comparison(found, tmp_path / "page.html").read_text()


def test_no_hint_where_local_is_there(tmp_path: Path) -> None:
    assert (
        comparison([write(tmp_path / "x"), write(tmp_path / "local", method="local")]).hints == []
    )


def test_nothing_to_compare() -> None:
    with pytest.raises(FedkinError):
        compare([])


@pytest.mark.parametrize("options", [{}, {"accuracy": False}, {"finished": False, "until": 0}])
def test_show_prints_every_kind_of_run(tmp_path: Path, options: dict[str, object]) -> None:
    text = printed(terminal_tables.show(summary(write(tmp_path, **options))))  # type: ignore[arg-type]
    if not options:
        assert "68.00 %" in text
        assert "timed out" in text
        assert "setup excluded" in text
        assert "dirichlet alpha=0.3 over=clients floor=10" in text
        assert "worst decile" in text
    if "until" in options:
        assert "Nothing was evaluated yet" in text
    assert "comet" in printed(sheets.compare(comparison([tmp_path])))


def diverge(folder: Path, client: int) -> Path:
    """What a recorder keeps of a client whose loss is no finite number."""
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(
            "UPDATE metrics SET loss = NULL WHERE client = ? AND view = 'personal'", (client,)
        )
    return folder


@pytest.mark.parametrize("accuracy", [True, False])
def test_clients_that_diverged_are_told_wherever_a_mean_is_without_them(
    tmp_path: Path, accuracy: bool
) -> None:
    run = diverge(write(tmp_path / "x", accuracy=accuracy), 2)
    sentence = "personal: 1 of 3 clients diverged"
    assert sentence in printed(terminal_tables.show(summary(run)))
    assert sentence in write_report(run).read_text()
    table = comparison([run, write(tmp_path / "y", accuracy=accuracy, seed=8)])
    assert [text for text in table.warnings if f"x: {sentence}" in text]
    assert sentence not in printed(terminal_tables.show(summary(tmp_path / "y")))


def test_a_setting_that_loses_a_client_is_not_the_best_by_validation(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", accuracy=False, hyper={"lam": 1})
    lossy = diverge(
        write(tmp_path / "lossy", accuracy=False, hyper={"lam": 2}), 2
    )  # the others' mean is lower
    assert look(lossy, "lossy").validation == math.inf
    found = comparison([lossy, whole], best=True)
    assert list(found.choice["chosen"]) == [False, True]
    assert math.isnan(found.choice["validation"][0])
    found = comparison([lossy, diverge(whole, 1)], best=True)
    assert "clients diverged under every one" in found.warnings[-1]


@pytest.mark.parametrize("other", [{"sampling": "size"}, {"holdout_clients": 0.2}])
def test_who_takes_part_tells_experiments_apart(tmp_path: Path, other: dict[str, object]) -> None:
    spec = {**FACTS["spec"], "run": {"seed": 7, "sampling": "uniform", "evaluate_every": 1}}
    one = write(tmp_path / "one", spec=spec)
    two = write(tmp_path / "two", spec={**spec, "run": {**spec["run"], **other}}, seed=8)
    assert comparison([one, two]).seeds.empty
    often = write(
        tmp_path / "often", spec={**spec, "run": {**spec["run"], "evaluate_every": 5}}, seed=8
    )
    assert list(comparison([one, often]).seeds["seeds"]) == [[7, 8]]
