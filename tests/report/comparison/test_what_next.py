"""What a comparison shows in words, and the commands that it proposes."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.what_next import what_next
from fedkin.runs.record import FEDERATION
from tests.report.comparison.compare_examples import shift
from tests.report.records_for_tests import OF_SAFE, write


def test_it_counts_what_is_sure_and_names_commands(tmp_path: Path) -> None:
    local, comet = write(tmp_path / "local", method="local"), write(tmp_path / "comet")
    with sqlite3.connect(comet / "run.db") as database:
        final = "round = 3 AND split = 'test'"
        database.execute(f"UPDATE metrics SET accuracy = accuracy + 0.1 WHERE {final}")
        database.execute(
            f"UPDATE metrics SET accuracy = accuracy - 0.2 WHERE {final} AND client = 2"
        )
    steps = what_next(comparison([local, comet]))
    assert steps[0].text == (
        "By their 95 % intervals, each by itself: 0 of 1 experiment better than local, "
        "0 worse, 1 not distinguished from it."
    )
    assert [step.command.split()[:2] for step in steps[1:]] == [
        ["fedkin", "run"],
        ["fedkin", "run"],
        ["fedkin", "run"],
        ["fedkin", "report"],
    ]
    assert steps[1].command.endswith("comet/experiment.toml --seed 0 --out comet-seed0")
    assert steps[2].text == "local under that seed, for without it no client has a pair:"
    assert steps[2].command.endswith("local/experiment.toml --seed 0 --out local-seed0")
    assert steps[3].text.startswith("33 % of the clients do worse.")


@pytest.mark.parametrize("against", ["local1", "local", None])
def test_a_baseline_that_has_the_other_seed_is_not_run_again(
    tmp_path: Path, against: str | None
) -> None:
    runs = [write(tmp_path / f"local{seed}", method="local", seed=seed) for seed in (0, 1)]
    runs.append(write(tmp_path / "comet", seed=1))
    commands = [step.command for step in what_next(comparison(runs, against=against))]
    assert [one for one in commands if "--seed" in one] == [
        "fedkin run comet/experiment.toml --seed 0 --out comet-seed0"
    ]


def test_commands_are_of_the_experiment_that_the_advice_is_about(tmp_path: Path) -> None:
    """The setting that gains most is under two seeds; another one, whose data have no baseline, has
    a higher test mean and a third seed.
    """
    runs = [write(tmp_path / f"local{seed}", method="local", seed=seed) for seed in (0, 1)]
    for seed, more in ((0, 0.05), (1, 0.15)):
        tuned = write(tmp_path / f"tuned{seed}", hyper={"lam": 2.0}, seed=seed)
        runs.append(shift(tuned, [more, more, -0.01]))
    other = shift(write(tmp_path / "other", data_digest="d8", seed=2), [0.2, 0.2, 0.2])
    commands = [step.command for step in what_next(comparison([other, *runs]))]
    assert commands[1].endswith("--seed 2 --out tuned0-seed2")
    assert commands[2].endswith("--seed 2 --out local0-seed2")
    assert commands[3] == "fedkin run tuned0/experiment.toml --set method.safe=true"
    assert commands[4] == "fedkin report tuned0"


def test_a_run_without_clients_scores_is_not_the_one_to_go_on_with(tmp_path: Path) -> None:
    local, comet = (
        write(tmp_path / "local", method="local", accuracy=False),
        write(tmp_path / "comet", accuracy=False),
    )
    hidden = write(tmp_path / "hidden", accuracy=False, seed=8)
    with sqlite3.connect(hidden / "run.db") as database:
        database.execute("DELETE FROM metrics WHERE client > 0")
        database.execute("UPDATE metrics SET client = ?", (FEDERATION,))
    commands = [step.command for step in what_next(comparison([hidden, local, comet]))]
    assert commands[-1] == "fedkin report comet"


def test_without_a_baseline_it_says_nothing(tmp_path: Path) -> None:
    assert what_next(comparison([write(tmp_path / "comet")])) == []


def test_only_rivals_are_a_choice_for_validation_data(tmp_path: Path) -> None:
    local = write(tmp_path / "local", method="local")
    comet, other = write(tmp_path / "one"), write(tmp_path / "other", model="cnn")
    tuned = write(tmp_path / "tuned", hyper={"lam": 2.0})
    for runs, more in (([local, comet, other], False), ([local, comet, tuned], True)):
        said = [step.command for step in what_next(comparison(runs))]
        assert any(command.endswith("--best") for command in said) is more
    given = comparison([comet, other, local], against="comet").warnings
    assert given == ["several settings of comet are given: the first that fits is the baseline"]
    assert (
        comparison([comet, tuned, local], against="comet").warnings[-1].endswith("--best chooses")
    )
    asked = what_next(comparison([local, comet, tuned], against="tuned"))
    assert asked[-1].command.endswith("--best --against tuned")


@pytest.mark.parametrize(("facts", "proposed"), OF_SAFE)
def test_safe_is_proposed_where_it_was_not_asked_for(
    facts: dict[str, Any], proposed: bool, tmp_path: Path
) -> None:
    local, comet = write(tmp_path / "local", method="local"), write(tmp_path / "comet", **facts)
    shift(comet, [0.1, 0.1, -0.2])
    said = [step.command for step in what_next(comparison([local, comet]))]
    assert any("method.safe=true" in command for command in said) is proposed
