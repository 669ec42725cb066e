"""Pages of a preset."""

import json
from pathlib import Path

import pytest

from fedkin.reproduce import running
from fedkin.reproduce.finished_rows import FinishedRun
from fedkin.reproduce.measures import MEASURES
from fedkin.reproduce.outcome import joined
from fedkin.reproduce.pages import (
    COLUMNS,
    HIGHEST,
    SAID,
    SMALL,
    _lead,
    markdown,
    notes,
    page,
)
from fedkin.reproduce.preset import names, preset, published
from tests.cli.command import fedkin


def test_published_numbers_that_contradict_themselves_are_flagged() -> None:
    flagged = {name: preset(name).flagged for name in names() if preset(name).flagged}
    assert {
        *("cgpfl-table-1", "cgpfl-table-2"),
        *("cgpfl-table-1-causes", "cgpfl-table-1-consecutive", "cgpfl-table-1-faster"),
        *("comet-table-3", "comet-table-3-cnn"),
        "perfed-ckt-table-1",
        "persfl-table-3",
        "persfl-table-6",
        "persfl-table-7",
        *("ppfl-table-1", "ppfl-table-3", "ppfl-figure-5"),  # of the same runs
    } == set(flagged)
    assert len(flagged["perfed-ckt-table-1"]) == 3  # COMET's, and its own
    found = preset("persfl-table-3")
    users = [
        line
        for line in published("persfl_tables2_3_accuracy")
        if (line["dataset"], line["split"]) == ("mnist", "ds2")
    ]
    assert {line["avg"] for line in users if line["method"] in ("fedper", "fedavg")} == {"85.5"}
    one, other = published("cgpfl_table1"), published("cgpfl_table2_lambda")
    (first,) = (line["mnist_dnn"] for line in one if line["method"] == "pfedme_pm")
    (second,) = (
        line["pfedme"]
        for line in other
        if (line["dataset"], line["model"], line["lam"]) == ("mnist", "dnn", "12")
    )
    assert (first, second) == ("92.20", "92.21")
    assert "FedPer on DS-2 equals FedAvg" in markdown(
        found, [], "full", "fedkin reproduce persfl-table-3"
    )


def test_the_small_scale_says_that_levels_are_not_to_be_compared(tmp_path: Path) -> None:
    found = preset("comet-figure-2", "small")
    none = [running.known(row, 1, tmp_path, {}, 1.0) for row in found.rows[:2]]
    for scale, told in (("small", True), ("full", False)):
        for made in (markdown, page):
            assert (SMALL in made(found, none, scale, "asked")) is told


@pytest.mark.rotating
def test_only_what_is_finished_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--set=run.rounds=2", "--set=engine.name=inprocess", "--set=data.clients=4"]
    asked = ["reproduce", "ppfl-figure-8", "--json", *quick]
    assert fedkin(*asked, "--rows", "N2").exit_code == 0
    lines = json.loads(fedkin(*asked, "--finished").stdout)["lines"]
    assert [line["missing"] for line in lines] == ["", *["not run yet"] * 4]
    assert lines[0]["measured"] is not None
    written = (tmp_path / "reproduction" / "ppfl-figure-8.md").read_text()
    assert "Not run, 4 rows, processor time " in written
    assert str(tmp_path) not in written
    said = fedkin(*[word for word in asked if word != "--json"], "--finished").stderr
    one, two = lines[0], lines[1]
    assert f"{one['row']}: {one['what']}: published " in said
    assert f", measured {one['measured']:.2f}" in said
    assert " (seeds 0; estimated " in said
    assert f"{two['row']}: {two['what']}: published " in said
    assert ", not run yet; estimated " in said


@pytest.mark.rotating
def test_what_the_csv_tells_already_stays_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of another setting, seed or row, and without the runs."""
    monkeypatch.chdir(tmp_path)
    quick = ["--set=run.rounds=2", "--set=engine.name=inprocess", "--set=data.clients=4"]
    asked = ["reproduce", "ppfl-figure-8", *quick]
    csv = tmp_path / "reproduction" / "ppfl-figure-8.csv"
    assert fedkin(*asked, "--rows", "N2", "--seeds", "2").exit_code == 0
    first = csv.read_text()
    assert len(first.splitlines()) == 1 + 2 * 2  # accuracy and scalars of two runs
    fedkin("reproduce", "ppfl-figure-8", "--finished")
    fedkin("reproduce", "ppfl-figure-8", "--scale", "full", "--finished")
    assert csv.read_text() == first
    (tmp_path / "reproduction" / "runs").rename(tmp_path / "runs")
    there = ["--from", "reproduction", "--rows", "N2", "--json", "--finished"]
    for seeds in ([], ["--seeds", "7"]):  # every finished seed of what is asked for is shown
        (line,) = json.loads(fedkin(*asked, *seeds, *there).stdout)["lines"]
        assert (line["seeds"], line["missing"]) == ([0, 1], "")
    assert csv.read_text() == first
    assert fedkin(*asked, "--rows", "N3").exit_code == 0
    assert csv.read_text().startswith(first)
    assert len(csv.read_text().splitlines()) == 1 + 3 * 2
    csv.write_text("mine\n")
    assert "is no file of finished rows" in fedkin(*asked, "--finished").stderr
    assert csv.read_text() == "mine\n"


@pytest.mark.rotating
def test_a_narrower_call_keeps_what_is_there_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [row.name for row in preset("ppfl-figure-8").rows]
    quick = [f"--set={s}" for s in ("run.rounds=2", "data.clients=4", "engine.name=inprocess")]
    asked = ["reproduce", "ppfl-figure-8", "--json", *quick, "--rows"]
    assert fedkin(*asked, "N2", "--seeds", "2").exit_code == 0
    first = table(tmp_path)[names[0]]
    assert first["seeds"] == "0, 1"
    result = fedkin(*asked, "N3")
    assert [line["row"] for line in json.loads(result.stdout)["lines"]] == [names[1]]
    now = table(tmp_path)
    assert list(now) == names
    assert all(
        now[names[0]][name] == first[name] for name in ("measured", "seeds", "taken")
    )  # both seeds, still
    assert [one["measured"] == "not run" for one in now.values()] == [
        False,
        False,
        True,
        True,
        True,
    ]
    for kind in ("md", "html"):
        assert (
            "Not run, 3 rows, " in (tmp_path / "reproduction" / f"ppfl-figure-8.{kind}").read_text()
        )
    (tmp_path / "reproduction" / "runs" / f"{names[0]}-seed0" / "run.db").write_text("damaged")
    monkeypatch.setattr(running, "run", None)  # what is not asked for is not trained
    assert fedkin(*asked, "N3").exit_code == 0
    assert table(tmp_path)[names[0]]["measured"] == "not run"
    assert (
        fedkin(*asked, "N2").exit_code == 1
    )  # though another row is there: it is not the one that was asked for


def table(folder: Path) -> dict[str, dict[str, str]]:
    """The page's table by the names of its rows."""
    lines = (folder / "reproduction" / "ppfl-figure-8.md").read_text().splitlines()
    cut = [
        dict(zip(COLUMNS, line.strip("| ").split(" | "), strict=True))
        for line in lines
        if line.startswith("| ppfl")
    ]
    return {one["row"]: one for one in cut}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Presets that are about the same runs share them."""
    return tmp_path_factory.mktemp("runs")


def test_the_page_leads_with_how_near_the_rows_are() -> None:
    line = {"missing": "", "difference": 0.5}
    found = [line, {**line, "difference": -8.61}, {**line, "difference": None}]
    assert _lead([*found, {"missing": "not run yet", "difference": None}]) == (
        "3 of 4 rows measured, 2 with a published number: 1 within 1 of it, the farthest 8.61 away."
    )
    assert _lead(found[2:]) == "1 of 1 row measured; none of them has a published number."


@pytest.mark.parametrize(
    ("name", "said"),
    [("cgpfl-table-1", "highest weighted"), ("comet-table-3-cnn", "highest"), ("ppfl-table-1", "")],
)
def test_a_round_that_test_data_chose_is_named(name: str, said: str, tmp_path: Path) -> None:
    first, *others = notes([running.known(preset(name).rows[0], 1, tmp_path, {})])
    assert first.endswith(
        "no round was chosen by test data, but in lines that say “highest over rounds”."
        if said
        else "no round was chosen by test data."
    )
    assert [measure for measure in HIGHEST if SAID[measure] in others] == [said] * bool(said)


def test_every_measure_whose_round_is_chosen_by_test_data_is_known_as_one() -> None:
    chosen = {name for name, (title, _) in MEASURES.items() if "highest over rounds" in title}
    assert {*chosen, "highest"} == {*HIGHEST}
    assert all("over rounds" in MEASURES[name][0] for name in HIGHEST)


def test_a_number_that_runs_were_kept_without_is_named() -> None:
    row = next(row for row in preset("ppfl-figure-5", "full").rows)
    one = FinishedRun(row.name, 0, {"accuracy": 90.0}, 60.0, "s", "f", "v")
    said = "Without this number, and not run again for it: scalars sent (paper) of 1 run."
    assert said in notes([joined(row, [one])])
    whole = one._replace(numbers={**one.numbers, "scalars": 5.0})
    assert said not in notes([joined(row, [whole])])
    here = joined(row, [one])._replace(taken=())  # a run of this machine has all that it can have
    assert said not in notes([here])
