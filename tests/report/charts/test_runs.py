"""Runs beside each other."""

import sqlite3
from statistics import fmean

import pytest

from fedkin.report.charts.runs import run_figures
from fedkin.report.comparison.run_row import FINISHED, ComparedRun, read_run
from tests.report.charts.test_rounds import ended_early
from tests.report.comparison.compare_examples import shift
from tests.report.records_for_tests import FACTS, TEST, write


@pytest.fixture
def seen(tmp_path):
    local = shift(write(tmp_path / "local", method="local"), [-0.3, 0.1, 0.0])
    other = write(tmp_path / "later", seed=8)
    return [read_run(folder, folder.name) for folder in (write(tmp_path / "comet"), local, other)]


def drawn(seen, baseline="local"):
    return {figure.name: figure for figure in run_figures(seen, baseline)}


def rows(figure):
    return [row for row in figure.spec["datasets"]["rows"] if "text" not in row]  # no names


def test_client_by_client_against_the_baseline_of_the_same_seed(seen) -> None:
    found = drawn(seen)
    against = found["against"]
    assert "to the right local, upwards comet" in against.note
    assert "later" not in str(against.spec["params"])  # another seed
    first = seen[1].personal, seen[0].personal
    assert [row["of"] for row in rows(against)] == [
        [round(of[k], 5) for of in first] for k in sorted(first[0])
    ]
    assert "against" not in drawn(seen, "nobody")
    assert "against" not in drawn(seen[1:])  # alone under its seed


def test_the_chart_of_pairs_has_the_places_of_its_runs(tmp_path) -> None:
    folders = [
        shift(write(tmp_path / "local", method="local"), [0.0000001, 0.3 - 0.1 - 0.2, 0.0]),
        write(tmp_path / "comet"),
    ]
    figure = drawn([read_run(folder, folder.name) for folder in folders])["against"]
    assert [row["place"] for row in rows(figure)] == [[1, 0], [0, 0], [0, 0]]
    assert "place[run_up]" in str(figure.spec)


def test_the_shorter_the_bar_the_more_equal_the_clients(seen) -> None:
    fair = rows(drawn(seen)["fairness"])
    assert [row["worst"] for row in fair] == sorted((row["worst"] for row in fair), reverse=True)
    local = next(row for row in fair if row["run"] == "local")
    values = sorted(seen[1].personal.values())
    assert (local["worst"], local["best"]) == (round(values[0], 5), round(values[-1], 5))


def test_the_worst_of_errors_are_the_largest(tmp_path) -> None:
    folders = [write(tmp_path / name, accuracy=False) for name in ("far", "near")]
    with sqlite3.connect(folders[0] / "run.db") as connection:
        connection.execute("UPDATE metrics SET loss = loss + 1")
    fair = rows(drawn([read_run(folder, folder.name) for folder in folders])["fairness"])
    assert [(row["run"], row["worst"], row["best"]) for row in fair] == [
        ("near", 3.0, 1.0),
        ("far", 4.0, 2.0),
    ]


def test_who_sends_least_for_as_much_is_on_the_front(seen) -> None:
    pareto = rows(drawn(seen)["pareto"])
    assert [row["run"] for row in pareto] == ["comet", "local"]  # "later" is comet's second seed
    assert any(row["front"] for row in pareto)
    assert "pareto" not in drawn(seen[:1])


def test_unfinished_runs_are_lines_alone_and_damaged_ones_nothing(seen, tmp_path) -> None:
    late = read_run(write(tmp_path / "late", finished=False), "late")
    assert not late.finished
    damaged = ComparedRun({"run": "x", "method": "", "seed": 0, "state": "damaged"})
    found = drawn([*seen, late, damaged])
    lines = next(figure for name, figure in found.items() if "round" in name)
    assert "late" in {row["run"] for row in rows(lines)}
    assert "late" not in {row["run"] for row in rows(found["fairness"])}
    assert run_figures([damaged], "local") == []
    assert all(one.row["state"] == FINISHED for one in seen)


def test_the_line_of_a_panels_run_is_of_the_panel_in_every_round(tmp_path) -> None:
    """Rounds ask clients 0 and 1, the finish everybody."""
    spec = {**FACTS["spec"], "run": {"evaluate": "panel:2"}}
    folder = write(tmp_path / "some", spec=spec)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("DELETE FROM metrics WHERE client = 2 AND round < 3")
    figure = drawn([read_run(folder, "some")])["over-round"]
    values = {
        row["round"]: row["value"] for row in rows(figure) if "round" in row and "method" in row
    }
    assert values == {at: fmean(TEST[at][:2]) for at in (1, 2, 3)}


def test_the_finish_of_a_run_that_ended_early_follows_its_last_round(tmp_path) -> None:
    """Its seconds are its own; the axis is as long as the training was."""
    drawn_ = drawn([read_run(ended_early(tmp_path / "early"), "early")])
    assert until(drawn_["over-seconds"], "early") == {(1, 5.0), (2, 11.0), (3, 14.0)}


def test_a_finish_that_changes_nothing_is_no_round_of_its_own(tmp_path) -> None:
    """Two rounds end at 2, also in a run beside it; one finish that works keeps all of them."""
    idle = [write(tmp_path / name) for name in ("a", "b")]
    for folder in idle:
        with sqlite3.connect(folder / "run.db") as connection:
            connection.execute("DELETE FROM metrics WHERE round = 3")
            columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(metrics)")]
            picked = ", ".join("3" if name == "round" else name for name in columns)
            connection.execute(f"INSERT INTO metrics SELECT {picked} FROM metrics WHERE round = 2")
    runs = [read_run(folder, folder.name) for folder in idle]
    assert {at for at, _ in until(drawn(runs)["over-seconds"], "a")} == {1, 2}
    working = read_run(write(tmp_path / "c"), "c")
    for run in "abc":
        assert max(until(drawn([*runs, working])["over-seconds"], run))[0] == 3


def until(figure, run):
    """{(round, seconds)} of a line; the rows of names at the ends have no round."""
    lines = [row for row in rows(figure) if row["run"] == run and "round" in row]
    return {(row["round"], row["seconds"]) for row in lines}


def test_seconds_are_those_until_the_round(seen, tmp_path) -> None:
    """A setup of 1 s, rounds of 4 and 6, a finish of 3; 0 where the record has no time of it."""
    figure = drawn(seen)["over-seconds"]
    assert until(figure, "comet") == {(1, 5.0), (2, 11.0), (3, 14.0)}
    short = write(tmp_path / "short")
    with sqlite3.connect(short / "run.db") as connection:
        connection.execute("DELETE FROM rounds WHERE round = 3")
    figure = drawn([*seen, read_run(short, "short")])["over-seconds"]
    assert until(figure, "short") == {(1, 5.0), (2, 11.0), (3, 0.0)}


def test_seeds_are_one_line_with_a_band_and_each_run_is_a_second_choice(tmp_path) -> None:
    runs = [write(tmp_path / f"comet{seed}", seed=seed) for seed in (1, 2)]
    shift(runs[1], [0.3, 0.0, 0.0])
    runs += [write(tmp_path / "local", method="local", seed=1)]
    runs += [write(tmp_path / "half", method="local", seed=2, finished=False)]
    seen = [read_run(folder, folder.name) for folder in runs]
    found = drawn(seen)
    for name in ("over-round", "over-seconds", "pareto", "fairness"):
        assert (found[name].choice, found[name].label) == ("Show", "mean over seeds")
        ((label, spec),) = found[name].others
        assert label == "every run"
        assert {"comet1", "comet2", "local"} <= {row["run"] for row in spec["datasets"]["rows"]}
    line = [row for row in rows(found["over-round"]) if row["run"] == "comet"]
    last = line[-1]
    assert last["value"] == pytest.approx(fmean(TEST[3]) + 0.05)
    assert last["high"] - last["value"] == pytest.approx(0.05 * 2**0.5, abs=1e-4)
    assert {row["run"] for row in rows(found["over-round"])} == {"comet", "local", "half"}
    point, alone = rows(found["pareto"])
    assert (point["run"], point["value"], point["seeds"]) == ("comet", last["value"], 2)
    assert "low" not in alone
    assert [row["run"] for row in rows(found["fairness"])] == ["comet", "local"]
    assert not found["against"].others


def test_settings_are_never_averaged(tmp_path) -> None:
    runs = [
        write(tmp_path / f"{lam}-{seed}", hyper={"lam": lam}, seed=seed)
        for lam in (1.0, 2.0)
        for seed in (1, 2)
    ]
    found = drawn([read_run(folder, folder.name) for folder in runs])
    names = {row["run"] for row in rows(found["over-round"])}
    assert names == {"comet, lam = 1.0", "comet, lam = 2.0"}
