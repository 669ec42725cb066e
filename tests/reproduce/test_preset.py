"""The presets: each is there, its specifications are valid, its commands mean the same, and a row
really runs.
"""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted, Progress
from fedkin.reproduce import estimate as estimating
from fedkin.reproduce import running
from fedkin.reproduce.cost import Cost, clocked, cost, parts
from fedkin.reproduce.estimate import COUNTED, MEASURED, PROBE, Costs, costs, estimate, together
from fedkin.reproduce.kept import COLUMNS as KEPT
from fedkin.reproduce.kept import read
from fedkin.reproduce.measures import MEASURES
from fedkin.reproduce.pages import COLUMNS, cells, lines, markdown, notes
from fedkin.reproduce.preset import SCALES, Row, names, preset, published
from fedkin.reproduce.running import Outcome, command, outcomes, spec_of
from fedkin.runs.record import Record
from fedkin.setup.build import method_of
from fedkin.setup.options import specification
from tests.cli.command import fedkin, told

ROOT = Path(__file__).parents[2]
WANTED = {
    *(f"comet-table-{n}" for n in (3, 4, 5)),
    "comet-figure-2",
    "comet-figure-3",
    *(f"perfed-ckt-table-{n}" for n in (1, 2)),
    *(f"persfl-table-{n}" for n in range(2, 8)),
    "persfl-figure-2",
    "persfl-figures-3-8",
    *(f"cgpfl-table-{n}" for n in (1, 2)),
    *(f"cgpfl-figure-{n}" for n in range(1, 6)),
    *(f"ppfl-table-{n}" for n in range(1, 4)),
    *(f"ppfl-figure-{n}" for n in range(5, 12)),
}
OURS = {"local", "persfl_reverse"}  # rows that the papers do not print


def test_every_table_and_figure_has_its_preset() -> None:
    assert set(names()) >= WANTED


@pytest.mark.parametrize("name", names())
def test_specifications_are_valid_and_commands_mean_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for scale in SCALES:
        rows = preset(name, scale).rows
        assert len({row.name for row in rows}) == len(rows) > 0
        for row in rows:
            assert (
                estimate(row).seconds > 0
            )  # nan would fail too: what a row costs is known before it runs
            if row.runner != "experiment":
                continue
            spec = spec_of(row, 0, {})
            method_of(spec)
            assert {value.measure for value in row.values} <= set(MEASURES)
            if scale == "full":
                continue  # the same changes, but for few
            words = shlex.split(command(row))[2:]
            pairs = list(zip(words[1::2], words[2::2], strict=True))
            settings = [value.partition("=")[0] for key, value in pairs if key == "--set"]
            assert len(set(settings)) == len(settings), row.name
            options = {key.removeprefix("--"): value for key, value in pairs if key != "--set"}
            again, _ = specification(
                Path(words[0]), options, [value for key, value in pairs if key == "--set"]
            )
            assert again == spec, row.name


@pytest.mark.parametrize("name", [name for name in names() if "-table-" in name])
def test_tables_have_their_published_numbers(name: str) -> None:
    for row in preset(name).rows:
        if not OURS & set(row.options.values()) and name != "ppfl-table-3":
            assert row.values[0].published is not None, row.name


def test_published_numbers_are_read() -> None:
    row = next(
        row
        for row in preset("cgpfl-table-1", "full").rows
        if row.name == "cgpfl-t1-mnist-mlr-cgpfl_k4"
    )
    assert row.values[0].published == 95.65
    row = next(
        row for row in preset("persfl-table-2", "full").rows if row.name == "persfl-t2-ds3-pfedme"
    )
    assert [value.published for value in row.values] == [78.1, 9.2]
    assert row.changes["run.rounds"] == 800  # taken from the table
    row = next(
        row
        for row in preset("comet-table-5", "full").rows
        if row.name == "comet-t3-hypcluster-c=6-C0.15"
    )
    assert [value.published for value in row.values] == [63.28, 4.1e10]
    assert len(published("ppfl_table1_pathological")) == 8
    row = next(
        row for row in preset("comet-table-3", "full").rows if row.name == "comet-t3-ditto-C0.15"
    )
    assert [value.published for value in row.values] == [
        68.88,
        19.16,
    ]  # the local view, the global one


@pytest.mark.parametrize(
    "name", ["ppfl-table-1", *(f"ppfl-figure-{n}" for n in (5, 6, 7, 8, 9, 10, 11))]
)
def test_ppfl_trains_as_its_authors_scripts_do(name: str) -> None:
    """Momentum 0.9 that outlasts the round but for pFedMe's; the decay is everybody's."""
    rates = {}
    for row in preset(name, "full").rows:
        train = spec_of(row, 0, {}).train
        plain = row.options.get("method") == "pfedme"
        assert train.weight_decay == 5e-4
        assert (train.momentum, train.state) == ((0.0, "restarted") if plain else (0.9, "kept"))
        rates[row.name] = train.lr
    if name == "ppfl-table-1":
        assert {rate for row, rate in rates.items() if "synthetic" in row} == {0.1}
        assert rates["ppfl-t1-mnist-local"] == rates["ppfl-t1-mnist-pfedme"] == 0.03
        assert rates["ppfl-t1-mnist-ppfl1"] == rates["ppfl-t1-mnist-fedavg"] == 0.1


def test_rows_of_another_preset_can_be_run_anew_with_changes() -> None:
    theirs, ours = preset("comet-table-3", "full").rows, preset("perfed-ckt-table-1", "full").rows
    assert {row.name for row in theirs}.isdisjoint(row.name for row in ours)
    assert {spec_of(row, 0, {}).run.rounds for row in ours} == {500}
    assert {row.values for row in ours} < {row.values for row in theirs}  # the numbers are COMET's


def test_published_numbers_that_contradict_themselves_are_flagged() -> None:
    flagged = {name: preset(name).flagged for name in names() if preset(name).flagged}
    assert {
        "comet-table-3",
        "comet-table-5",
        "perfed-ckt-table-1",
        "persfl-table-3",
        "persfl-table-7",
    } == set(flagged)
    found = preset("persfl-table-3")
    users = [
        line
        for line in published("persfl_tables2_3_accuracy")
        if (line["dataset"], line["split"]) == ("mnist", "ds2")
    ]
    assert {line["avg"] for line in users if line["method"] in ("fedper", "fedavg")} == {"85.5"}
    assert "FedPer on DS-2 equals FedAvg" in markdown(
        found, [], "full", "fedkin reproduce persfl-table-3"
    )


def test_a_preset_runs_what_it_can_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))  # there are no files
    quick = [
        f"--set={key}"
        for key in (
            "run.rounds=2",
            "engine.name=inprocess",
            "data.clients=6",
            "run.evaluate_every=1",
        )
    ]
    asked = [
        "reproduce",
        "ppfl-table-1",
        "--rows",
        "synthetic-fedavg",
        "--seeds",
        "2",
        *quick,
        "--json",
    ]
    result = fedkin(*asked)
    assert result.exit_code == 0, result.output
    (line,) = json.loads(result.stdout)["lines"]
    assert (line["published"], line["seeds"]) == (69.34, [0, 1])
    assert line["difference"] == pytest.approx(line["measured"] - 69.34)
    assert line["sd"] > 0
    page = (tmp_path / "reproduction" / "ppfl-table-1.md").read_text()
    assert "| 69.34 |" in page
    assert "examples/papers/ppfl_synthetic.toml" in page
    assert (tmp_path / "reproduction" / "ppfl-table-1.html").stat().st_size > 500_000
    result = fedkin("reproduce", "ppfl-table-1", "--rows", "mnist-local", "--json")
    (line,) = json.loads(result.stdout)["lines"]
    assert "mnist.npz" in line["missing"]
    assert line["measured"] is None
    assert result.exit_code == 1  # nothing was run
    assert "Not run, 1 row" in (tmp_path / "reproduction" / "ppfl-table-1.md").read_text()


def test_ctrl_c_ends_a_preset_and_no_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def stopped(row: Row, *_: object) -> Outcome:
        begun.append(row.name)
        raise Interrupted("stopped after round 3")

    monkeypatch.setitem(running.RUNNERS, "experiment", stopped)  # type: ignore[index]
    monkeypatch.chdir(tmp_path)
    result = fedkin("reproduce", "ppfl-figure-8")
    assert (result.exit_code, len(begun)) == (130, 1)
    assert "the same command goes on where it was" in result.output
    assert not list((tmp_path / "reproduction").glob("*.md"))


def test_a_run_of_another_setting_is_not_taken(tmp_path: Path) -> None:
    (row,) = [row for row in preset("ppfl-figure-8").rows if row.options["N"] == "N2"]
    quick = {"run.rounds": 1, "engine.name": "inprocess", "data.clients": 4}
    (first,) = outcomes([row], 1, tmp_path, quick)
    assert first.missing == ""
    (again,) = outcomes([row], 1, tmp_path, quick)
    assert again.numbers == first.numbers  # not run again
    (
        first.folders[0] / "run.db"
    ).unlink()  # as a run leaves it that is killed between its first two files
    (resumed,) = outcomes([row], 1, tmp_path, quick)
    assert resumed.numbers == first.numbers
    (other,) = outcomes([row], 1, tmp_path, {**quick, "train.lr": 0.5})
    assert "another setting (train.lr)" in other.missing
    (other,) = outcomes(
        [row], 1, tmp_path, {**quick, "method.theta_share": 0.9}
    )  # where the row has its default
    assert "another setting (method.theta_share)" in other.missing
    (wider,) = outcomes([row], 1, tmp_path / "w", {**quick, "method.theta_share": 0.9})
    assert wider.missing == ""
    (other,) = outcomes([row], 1, tmp_path / "w", quick)  # and the other way round
    assert "another setting (method.theta_share)" in other.missing


def test_a_run_from_before_a_setting_existed_has_its_default(tmp_path: Path) -> None:
    (row,) = [row for row in preset("ppfl-figure-8").rows if row.options["N"] == "N2"]
    quick = {"run.rounds": 1, "engine.name": "inprocess", "data.clients": 4}
    (first,) = outcomes([row], 1, tmp_path, quick)
    asked = json.loads((first.folders[0] / running.ASKED).read_text())
    assert asked.pop("run.min_replies") == 1
    assert asked.pop("train.milestones") == []
    assert asked.pop("public.labeled") is False
    (first.folders[0] / running.ASKED).write_text(json.dumps(asked))
    (again,) = outcomes([row], 1, tmp_path, quick)
    assert again.numbers == first.numbers
    (other,) = outcomes([row], 1, tmp_path, {**quick, "run.min_replies": 2})
    assert "another setting (run.min_replies)" in other.missing


def test_a_finished_run_is_taken_where_data_decided_a_setting(tmp_path: Path) -> None:
    """[model] family is "auto" in the preset, and what it came to in the run's own
    specification.
    """
    (row,) = preset("cgpfl-figure-4").rows
    quick = {
        "run.rounds": 2,
        "run.clients": 4,
        "data.name": "digits",
        "split.low": 20,
        "split.high": 60,
    }
    for _ in range(2):
        (one,) = outcomes([row], 1, tmp_path, {**quick, "engine.name": "inprocess"})
        assert one.missing == ""
    spent = cost(one.folders[0])
    assert spent is not None
    assert spent.round is not None
    assert one.seconds == spent.total > spent.round > 0


def test_a_run_is_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are those that were there, not those of the same relative name."""
    (row,) = preset("cgpfl-figure-4").rows
    quick = {
        "run.rounds": 1,
        "run.clients": 4,
        "split.low": 20,
        "split.high": 60,
        "engine.name": "inprocess",
    }
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        x = np.random.default_rng(len(name)).integers(0, 255, (800, 1, 8, 8), dtype=np.uint8)
        np.savez(tmp_path / name / "t.npz", x=x, y=np.arange(800) % 10)
    monkeypatch.chdir(tmp_path / "here")
    (first,) = outcomes([row], 1, tmp_path / "out", {**quick, "data.name": "t.npz"})
    assert first.missing == ""
    monkeypatch.chdir(tmp_path / "there")
    (again,) = outcomes([row], 1, tmp_path / "out", {**quick, "data.name": "../here/t.npz"})
    assert (again.numbers, again.seconds) == (first.numbers, first.seconds)
    (other,) = outcomes([row], 1, tmp_path / "out", {**quick, "data.name": "t.npz"})
    assert "another setting (data.name)" in other.missing


def test_finished_rows_of_another_machine_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed as CSV is not run again, as long as the settings are the same."""
    monkeypatch.chdir(tmp_path)
    quick = ["--set=run.rounds=2", "--set=engine.name=inprocess", "--set=data.clients=4"]
    asked = ["reproduce", "ppfl-figure-8", "--json", *quick, "--rows", "N2"]
    (here,) = json.loads(fedkin(*asked, "--out", "a").stdout)["lines"]
    kept = read(tmp_path / "a")
    one = kept[here["row"], 0]
    assert one.numbers == {"accuracy": here["measured"]}
    assert len(one.fingerprint) > 10
    (there,) = json.loads(fedkin(*asked, "--out", "b", "--from", "a").stdout)["lines"]
    assert (there["measured"], there["seeds"]) == (here["measured"], [0])
    assert not (tmp_path / "b" / "runs").exists()  # nothing was trained
    assert (
        "taken from its CSV as settings are equal: 1 run"
        in (tmp_path / "b" / "ppfl-figure-8.md").read_text()
    )
    assert (tmp_path / "b" / "ppfl-figure-8.csv").read_text() == (
        tmp_path / "a" / "ppfl-figure-8.csv"
    ).read_text()
    (more,) = json.loads(fedkin(*asked, "--out", "b", "--from", "a", "--seeds", "2").stdout)[
        "lines"
    ]
    assert more["seeds"] == [0, 1]
    assert [path.name for path in (tmp_path / "b" / "runs").iterdir()] == [f"{here['row']}-seed1"]
    other = [*asked, "--set=method.lam=0.5", "--finished", "--out", "c", "--from", "a"]
    (line,) = json.loads(fedkin(*other).stdout)["lines"]
    assert line["missing"] == "not run yet"  # another setting is not taken


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "is no file of finished rows: its columns are row, seed, measure"),
        (
            ",".join(KEPT) + "\nr,0,accuracy,nan,1,s,f,v\n",
            "line 2 has no numbers where seed, value and seconds belong",
        ),
        (
            ",".join(KEPT) + "\nr,zero,accuracy,1,1,s,f,v\n",
            "line 2 has no numbers where seed, value and seconds belong",
        ),
    ],
)
def test_a_csv_that_is_no_file_of_finished_rows_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FedkinError, match=said):
        read(tmp_path)


def test_only_what_is_finished_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--set=run.rounds=2", "--set=engine.name=inprocess", "--set=data.clients=4"]
    asked = ["reproduce", "ppfl-figure-8", "--json", *quick]
    assert fedkin(*asked, "--rows", "N2").exit_code == 0
    lines = json.loads(fedkin(*asked, "--finished").stdout)["lines"]
    assert [line["missing"] for line in lines] == ["", *["not run yet"] * 4]
    assert lines[0]["measured"] is not None
    page = (tmp_path / "reproduction" / "ppfl-figure-8.md").read_text()
    assert "Not run, 4 rows, processor time " in page
    assert str(tmp_path) not in page


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


def test_the_probe_has_one_thread_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        estimating, "_training", lambda: float(seen.append(torch.get_num_threads()) or 1.0)
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert estimating.probe() == 1.0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1, 1]


def test_estimates_follow_the_rounds_and_the_machine() -> None:
    row = preset("cgpfl-figure-4").rows[0]
    known = costs()[row.name]
    one, eleven = (estimate(row, {"run.rounds": rounds}).seconds for rounds in (1, 11))
    assert one == pytest.approx(known.once + known.finish)
    assert eleven - one == pytest.approx(10 * known.round)
    assert estimate(row, speed=2.0).seconds == pytest.approx(estimate(row).seconds / 2)
    assert estimate(row, seeds=3).seconds == pytest.approx(estimate(row).seconds * 3)
    assert PROBE in costs()
    assert set(costs()) <= {
        PROBE,
        *(r.name for n in names() for s in SCALES for r in preset(n, s).rows if r.spec),
    }


def test_an_estimate_from_another_rows_run_is_told_as_rough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = preset("ppfl-figure-8").rows[:2]
    known = {first.name: Costs(2.0, 1.0, 0.0, MEASURED), second.name: Costs(4.0, 2.0, 0.0, COUNTED)}
    monkeypatch.setattr(estimating, "costs", lambda: known)
    sure, rough = (estimate(row, {"run.rounds": 11}) for row in (first, second))
    assert [str(sure), str(rough), str(together([sure, rough]))] == [
        "12.0 s",
        "~ 24.0 s",
        "~ 36.0 s",
    ]
    told = [
        Outcome(row, [], {}, None, [], "not here", found)
        for row, found in ((first, sure), (second, rough))
    ]
    assert "Not run, 2 rows, processor time ~ 36.0 s: not here" in notes(told)
    assert [line["estimate_is_rough"] for line in lines(told)] == [False, True]
    assert [cells(line)[6] for line in lines(told)] == ["12.0 s", "~ 24.0 s"]


def test_a_run_in_several_sessions_costs_their_sum(tmp_path: Path) -> None:
    marks = [("setup", 1.0), ("round", 4.0), ("round", 6.0), ("round", 8.0), ("finish", 9.0)]
    assert parts(marks, 0.5, 9.5) == Cost(9.0, 3.5, 2.0, 1.5)
    assert parts(marks[2:], 0.5, 9.5) == Cost(9.0)  # resumed: only its total is known

    def session(first: int, *phases: str) -> Callable[[Progress], Path]:
        def work(progress: Progress) -> Path:
            for number, phase in enumerate(phases, first):
                progress(Record(number, phase, [], [], {}, {}, {}, {}, {}))
            return tmp_path

        return work

    clocked(tmp_path, session(4, "round"))
    assert (
        cost(tmp_path) is None
    )  # a session before it was killed: what this one took is not what the run took
    clocked(tmp_path, session(0, "setup", "round"))
    first = cost(tmp_path)
    clocked(tmp_path, session(2, "round"))
    second = cost(tmp_path)
    assert first is not None
    assert second is not None
    assert second.total >= first.total
    clocked(tmp_path, session(3))  # nothing was left to do
    assert cost(tmp_path) == second
    clocked(tmp_path, session(5, "round", "finish"))
    assert cost(tmp_path) is None  # rounds 3 and 4 were a session's that was killed


def test_mistakes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for setting, words in (
        ("run.seed=3", "--seeds"),
        ("run.rounds=many", "not 'many'"),
        ("run.roundz=3", "did you mean 'rounds'"),
        ("run=3", "run"),
    ):
        result = fedkin("reproduce", "ppfl-figure-8", "--set", setting)
        assert result.exit_code == 2, result.output
        assert words in result.stderr
    for seeds in ("0", "1001", "10000000000000"):
        said = told("reproduce", "ppfl-figure-8", "--finished", "--seeds", seeds)
        assert said.endswith(f"{seeds} is not in the range 1<=x<=1000.")
    assert not (tmp_path / "reproduction").exists()
    assert "did you mean 'cgpfl-table-1'" in fedkin("reproduce", "cgpfl-table1").output
    assert (
        "no row of comet-figure-2 contains nothing"
        in fedkin("reproduce", "comet-figure-2", "--rows", "nothing").output
    )
    assert "unknown scale" in fedkin("reproduce", "comet-figure-2", "--scale", "tiny").output
    assert len(json.loads(fedkin("reproduce", "--list", "--json").stdout)) == len(names())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Presets that are about the same runs share them."""
    return tmp_path_factory.mktemp("runs")


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_the_small_scale_of_every_preset_runs(name: str, runs: Path) -> None:
    found = preset(name, "small")
    for one in outcomes(found.rows, 1, runs, {"engine.name": "inprocess"}):
        lacking = one.missing and (
            "file" in one.missing or "folder" in one.missing
        )  # data that are not here
        assert not one.missing or lacking, f"{one.row.name}: {one.missing}"
