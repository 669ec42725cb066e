"""What to do next: commands that can be typed where the page is read."""

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedkin.experiment.run import run
from fedkin.report.collaboration import Groups
from fedkin.report.page.gain import Gain, gain_of
from fedkin.report.page.next_steps import _of_groups, _of_rounds, _verdict, _who, next_steps
from fedkin.report.page.report import write_report
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from fedkin.runs.spec import parse
from tests.engine.small import content
from tests.report.kept_pages import federation, in_groups
from tests.report.page.lead_examples import beside, change
from tests.report.records_for_tests import OF_SAFE, write

LAST = 9  # the finish of a longer run


def steps(folder: Path, groups: Groups | None = None) -> tuple[str, list[str]]:
    with opened(folder) as run:
        found = of_run(run)
        told = next_steps(run, found, gain_of(run, found), groups)
    return " ".join(step.text for step in told), [step.command for step in told if step.command]


def test_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said, commands = steps(beside(tmp_path), Groups("cluster", {0: 0, 1: 1, 2: 1}))
    assert "Not significant" in said
    assert "Worse off than with local training alone: client b (−10.00 points)." in said
    assert "Most gains: cluster 0 (1 client, mean +30.00 points)." in said
    assert "Least: cluster 1 (2 clients, mean −5.00 points)." in said
    assert commands == [
        "fedkin run comet/experiment.toml --set method.safe=true",
        "fedkin compare local comet --html compare.html",
        "fedkin show comet --json",
    ]
    said, commands = steps(write(tmp_path / "half", finished=False, until=1))
    assert commands[0] == "fedkin resume half"
    said, commands = steps(write(tmp_path / "alone" / "x"))
    assert "fedkin run alone/x/experiment.toml --method local --out alone/local" in commands


def test_no_command_runs_a_method_that_was_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value = {"values": {"method": {"code": "aa", "settings": {}}}}
    change(write(tmp_path / "local", method="local"), 1, 0.1)
    said, commands = steps(write(tmp_path / "comet", **value))
    assert "with safe = true each one keeps what its validation prefers." in said
    assert not any("safe" in command for command in commands)
    assert "fedkin compare local comet --html compare.html" in commands
    _, commands = steps(write(tmp_path / "alone" / "x y", **value))
    assert any("--method local" in command for command in commands)
    _, commands = steps(write(tmp_path / "half way", finished=False, until=1, **value))
    assert commands[0] == "fedkin.resume('half way', method=THE METHOD)"


@pytest.mark.parametrize(("facts", "proposed"), OF_SAFE)
def test_safe_is_proposed_where_it_was_not_asked_for(
    facts: dict[str, Any], proposed: bool, tmp_path: Path
) -> None:
    change(write(tmp_path / "local", method="local"), 1, 0.1)
    _, commands = steps(write(tmp_path / "comet", **facts))
    assert any("method.safe=true" in command for command in commands) is proposed


@pytest.mark.parametrize(
    ("low", "p", "word"),
    [(0.01, 0.001, "Significant"), (0.01, 0.26, "Not certain"), (-0.01, 0.26, "Not significant")],
)
def test_a_gain_is_certain_where_both_tests_say_so(low: float, p: float, word: str) -> None:
    by = {0: 0.3, 1: -0.1, 2: 0.2}
    gain = Gain("local", "accuracy", "", {}, by, 0.13, low, 0.4, p)
    said = _verdict(gain)
    assert said.startswith(word)
    assert f"Wilcoxon p = {p:.4f}" in said


def test_what_a_finish_gains_is_no_reason_for_more_rounds(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", rounds=LAST - 1)
    with sqlite3.connect(folder / "run.db") as database:
        for table in ("rounds", "metrics"):
            database.execute(f"UPDATE {table} SET round = ? WHERE round = 3", (LAST,))
            for number in range(3, LAST):
                database.execute(f"CREATE TEMP TABLE more AS SELECT * FROM {table} WHERE round = 2")
                database.execute("UPDATE more SET round = ?", (number,))
                database.execute(f"INSERT INTO {table} SELECT * FROM more")
                database.execute("DROP TABLE more")
        database.execute("UPDATE clients SET val = 200")
        database.execute("UPDATE metrics SET accuracy = 0.5")
        database.execute("UPDATE metrics SET accuracy = 0.9 WHERE round = ?", (LAST,))
    assert "more rounds may help" not in steps(folder)[0]
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE metrics SET accuracy = 0.05 * round WHERE round < ?", (LAST,))
    assert "more rounds may help" in steps(folder)[0]


@pytest.mark.parametrize("client", [1, -1])
def test_who_diverged_and_when_is_told_with_a_smaller_rate(
    client: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "run", spec={"train": {"lr": 0.5}})
    assert "Diverged" not in steps(folder)[0]
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        if client < 0:  # under masks: the federation's sum alone
            database.execute("DELETE FROM metrics WHERE client > 0")
            database.execute("UPDATE metrics SET client = -1")
        diverged = "UPDATE metrics SET loss = NULL WHERE client = ? AND round = 2"
        database.execute(diverged, (client,))
    said, commands = steps(folder)
    who = "1 client" if client > 0 else "a client or more"
    assert (
        f"Diverged: the loss of {who} was no finite number in 1 of 3 evaluated rounds, last in "
        "round 2. A smaller learning rate may be enough:"
    ) in said
    assert commands[0] == "fedkin run run/experiment.toml --set train.lr=0.05"


def test_a_client_without_samples_of_a_split_has_not_diverged(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("UPDATE clients SET val = 0 WHERE client = 1")
        database.execute("UPDATE metrics SET loss = NULL WHERE client = 1 AND split = 'val'")
    assert "Diverged" not in steps(folder)[0]


def test_a_federation_without_samples_of_a_split_has_not_diverged(tmp_path: Path) -> None:
    folder = tmp_path / "masked"
    masks = {"secure_aggregation": True}
    run(parse({**content("fedavg", split__val=0.0, run__rounds=2), "privacy": masks})[0], folder)
    assert "Diverged" not in steps(folder)[0]
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("UPDATE metrics SET loss = NULL WHERE split = 'test' AND round = 1")
    assert "Diverged: the loss of a client or more was no finite number in 1" in steps(folder)[0]


def test_of_sums_nobody_is_compared_with_its_own_training(tmp_path: Path) -> None:
    folder = write(tmp_path / "masked")
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("DELETE FROM metrics WHERE client > 0")
        database.execute("UPDATE metrics SET client = -1")
    _, commands = steps(folder)
    assert not [command for command in commands if "--method local" in command]
    assert [command for command in commands if command.startswith("fedkin show")]


def test_a_page_that_is_passed_on_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    text = write_report(beside(tmp_path)).read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert "fedkin compare local comet" in text


@pytest.mark.parametrize(
    ("hurt", "helped", "sizes", "ends"),
    [
        (3, 6, (10, 10), "c2 (−3.00 points), c1 (−2.00 points), c0 (−1.00 points)."),
        (4, 4, (90, 10), "c0 (−1.00 points). Median training samples: theirs 90, those of the "
         "helped 10."),
        (4, 4, (10, 15), "c0 (−1.00 points). Median training samples: theirs 10, those of the "
         "helped 15."),
    ],
)  # fmt: skip
def test_who_is_hurt_and_how_much_data_they_have(
    hurt: int, helped: int, sizes: tuple[int, int], ends: str
) -> None:
    clients = {k: SimpleNamespace(train=sizes[k >= hurt]) for k in range(hurt + helped)}
    run = SimpleNamespace(name=lambda k: f"c{k}", clients=clients)
    change = {k: -0.01 * (k + 1) if k < hurt else 0.1 for k in clients}
    gain = SimpleNamespace(
        measure="accuracy",
        name="local training alone",
        by_client=change,
        hurt=list(range(hurt)),
        helped=list(range(hurt, hurt + helped)),
    )
    said = _who(run, gain)  # type: ignore[arg-type]
    assert said.startswith(f"Worse off than with local training alone: clients c{hurt - 1} (")
    assert said.endswith(ends)


@pytest.mark.parametrize(("step", "more"), [(0.0001, False), (0.1, True)])
def test_an_error_that_falls_by_little_needs_no_more_rounds(
    step: float, more: bool, tmp_path: Path
) -> None:
    """What is little is a share of the error, which has no scale of its own."""
    run = federation(tmp_path / "run", 5, 6, in_groups(2, 2), classes=0, measure="loss")
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute(f"UPDATE metrics SET accuracy = NULL, loss = 2.0 - {step} * round")
    said, _ = steps(run)
    assert ("more rounds may help" in said) == more


SURE = "Significant for clients like these under this seed: the"
ANOTHER = "Another seed may differ."
GAIN = Gain("local", "accuracy", "", {}, {0: 0.1, 1: -0.2, 2: 0.3}, 0.05, 0.02, 0.08, 0.0123)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, f"{SURE} gain is unlikely to be chance (+2.00 … +8.00 points, Wilcoxon p = "
         f"0.0123). {ANOTHER}"),
        ({"p": 0.00009}, f"{SURE} gain is unlikely to be chance (+2.00 … +8.00 points, "
         f"Wilcoxon p < 0.0001). {ANOTHER}"),
        ({"p": 0.0001}, f"{SURE} gain is unlikely to be chance (+2.00 … +8.00 points, "
         f"Wilcoxon p = 0.0001). {ANOTHER}"),
        ({"p": None}, f"{SURE} gain is unlikely to be chance (+2.00 … +8.00 points). {ANOTHER}"),
        ({"low": 0.0}, "Not significant: the interval of the gain, 0.00 … +8.00 points, includes "
         "0, Wilcoxon p = 0.0123. More seeds or more clients would tell."),
        ({"mean": -0.05, "low": -0.08, "high": -0.02}, f"{SURE} loss is unlikely to be "
         f"chance (−8.00 … −2.00 points, Wilcoxon p = 0.0123). {ANOTHER}"),
        ({"low": None, "high": None}, "One client alone says nothing of chance."),
    ],
)  # fmt: skip
def test_how_sure_a_gain_is(changes: dict[str, float | None], said: str) -> None:
    assert _verdict(GAIN._replace(**changes)) == said  # type: ignore[arg-type]


def test_which_group_gains_most_and_least() -> None:
    said = _of_groups(GAIN, Groups("cluster", {0: 4, 1: 2, 2: 4, 9: 7}))
    assert said == [
        "Most gains: cluster 4 (2 clients, mean +20.00 points). Least: cluster 2 (1 client, mean "
        "−20.00 points)."
    ]
    assert _of_groups(GAIN, Groups("cluster", {0: 4, 1: 4, 2: 4})) == []
    alike = GAIN._replace(by_client={0: 0.1, 1: 0.1})
    assert _of_groups(alike, Groups("cluster", {0: 4, 1: 2})) == []
    assert _of_groups(GAIN, None) == []


@pytest.mark.parametrize(
    ("rounds", "shares", "said", "more"),
    [
        (10, {8: 0.59, 10: 0.6}, "still improved by 1.00 points since round 8", 20),
        (10, {8: 0.596, 10: 0.6}, None, None),
        (10, {3: 0.62, 8: 0.6, 10: 0.6}, "round 3 was better than the last by 2.00 points", 3),
        (10, {3: 0.608, 8: 0.6, 10: 0.6}, None, None),
        (5, {4: 0.5, 5: 0.6}, "still improved by 10.00 points since round 4", 10),
        (4, {3: 0.5, 4: 0.6}, None, None),
        (14, {11: 0.5, 14: 0.6}, "still improved by 10.00 points since round 11", 28),
    ],
)
def test_whether_rounds_were_too_few_or_too_many(
    rounds: int, shares: dict[int, float], said: str | None, more: int | None, tmp_path: Path
) -> None:
    """By validation data: the last fifth of the rounds, and the best round beside the last."""
    folder = federation(tmp_path / "run", 5, rounds, in_groups(2, 2))
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("UPDATE clients SET val = 200")
        connection.execute("UPDATE metrics SET accuracy = 0.59 WHERE split = 'val'")
        for at, share in shares.items():
            connection.execute(
                "UPDATE metrics SET accuracy = ? WHERE split = 'val' AND round = ?", (share, at)
            )
    with opened(folder) as run:
        steps = _of_rounds(run, of_run(run))
    assert [said in step.text for step in steps] == ([] if said is None else [True])  # type: ignore[operator]
    assert [step.command.rpartition(" --rounds ")[2] for step in steps] == (
        [] if more is None else [str(more)]
    )


@pytest.mark.parametrize(("samples", "steps"), [(60, 1), (59, 0)])
def test_fewer_samples_than_chance_turns_are_no_reason_for_other_rounds(
    samples: int, steps: int, tmp_path: Path
) -> None:
    """10 points are 6 of 60 validation samples: 0.5^6 twice is below 5 %, and 0.5^5 is not."""
    folder = federation(tmp_path / "run", 5, 10, in_groups(2, 2))
    for late, last in ((0.5, 0.6), (0.7, 0.6)):
        with sqlite3.connect(folder / "run.db") as connection:
            connection.execute("UPDATE clients SET val = 0")
            connection.execute("UPDATE clients SET val = ? WHERE client = 0", (samples,))
            connection.execute("UPDATE metrics SET accuracy = 0.5 WHERE split = 'val'")
            for at, share in ((8, late), (10, last)):
                connection.execute(
                    "UPDATE metrics SET accuracy = ? WHERE split = 'val' AND round = ?", (share, at)
                )
        with opened(folder) as run:
            assert len(_of_rounds(run, of_run(run))) == steps
