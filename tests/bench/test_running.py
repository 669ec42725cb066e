"""A suite from its beginning to its rows; killed and gone on with; equal budgets."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.bench import case as cases
from fedkin.bench import workers
from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.live import LiveRows
from fedkin.bench.leaderboard.page import page
from fedkin.bench.machine import versions
from fedkin.bench.row import ROWS, Row, append, read_rows, whole_cases
from fedkin.bench.running import bench
from fedkin.bench.trial import KEPT, TrialResult, _read
from fedkin.core.errors import FedkinError, Halted
from tests.bench.tiny import quiet, tiny, tiny_request


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    out = tmp_path_factory.mktemp("bench")
    return out, bench(tiny_request(out), quiet)


def test_every_method_has_its_rows_and_the_baselines_too(done: tuple[Path, list[Row]]) -> None:
    out, rows = done
    assert {row.method for row in rows} == {"local", "fedavg", "ditto"}
    assert rows == read_rows(out / ROWS)
    assert not any((out / "runs").iterdir())
    assert {row.title for row in rows} == {"Digits"}


def test_validation_chose_and_every_method_had_as_many_trials(
    done: tuple[Path, list[Row]],
) -> None:
    for row in done[1]:
        assert len(row.trials) == 2
        assert row.hyper["lr"] == 0.2  # at 0.0001 nothing is learned
        best = max(row.trials, key=lambda one: one.validation or 0.0)
        assert best.hyper == row.hyper


def test_budgets_are_what_fedavg_used(done: tuple[Path, list[Row]]) -> None:
    """Ditto trains twice: as many bytes at as many rounds, half of them for as much work."""
    by = {(row.method, budget): row for row in done[1] for budget in row.budgets}
    assert by["fedavg", "rounds"].rounds == by["ditto", "bytes"].rounds == 4
    assert by["ditto", "compute"].rounds == 2
    assert by["ditto", "compute"].flops <= 1.05 * by["fedavg", "compute"].flops
    assert by["ditto", "rounds"].flops == pytest.approx(2 * by["fedavg", "rounds"].flops)
    assert by["ditto", "rounds"].bytes == by["fedavg", "rounds"].bytes > 0
    assert by["local", "rounds"].bytes == 0


def test_who_was_helped_is_counted_client_by_client(done: tuple[Path, list[Row]]) -> None:
    local, fedavg = (next(r for r in done[1] if r.method == name) for name in ("local", "fedavg"))
    gains = [fedavg.clients[k] - local.clients[k] for k in local.clients]
    assert fedavg.helped == sum(gain > 0 for gain in gains) / 3
    assert fedavg.hurt == sum(gain < 0 for gain in gains) / 3
    assert local.helped is None


def test_the_same_command_repeats_nothing(
    done: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rows = done

    def never(*given: Any) -> list[Row]:
        raise AssertionError("it was run again")

    monkeypatch.setattr(workers, "rows_of", never)
    assert bench(tiny_request(out), quiet) == rows


def test_runs_of_others_are_no_place_for_a_bench(tmp_path: Path) -> None:
    (tmp_path / "my runs" / "mine").mkdir(parents=True)
    (tmp_path / "my runs" / "mine" / "experiment.toml").touch()
    with pytest.raises(FedkinError, match=r"mine is the folder of a run: choose another --out$"):
        bench(tiny_request(tmp_path / "my runs" / "mine"), quiet)
    with pytest.raises(FedkinError, match="holds 1 run and no bench: ") as refused:
        bench(tiny_request(tmp_path / "my runs"), quiet)
    assert str(refused.value).endswith(f"such as '{tmp_path}/my runs/bench'")
    assert [path.name for path in (tmp_path / "my runs").iterdir()] == ["mine"]


def test_a_killed_bench_goes_on(
    tmp_path: Path, done: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in fedavg's second trial: local's rows and fedavg's first trial stay."""
    real, count = cases.run_trial, iter(range(100))

    def stopping(content: Any, folder: Path, data_dir: str | None) -> TrialResult:
        if next(count) == 4:  # local: two trials and its row, one trial of fedavg
            raise KeyboardInterrupt
        return real(content, folder, data_dir)

    monkeypatch.setattr(cases, "run_trial", stopping)
    with pytest.raises(Halted, match="the same command goes on"):
        bench(tiny_request(tmp_path), quiet)
    assert [row.method for row in read_rows(tmp_path / ROWS)] == ["local"]
    with open(tmp_path / ROWS, "ab") as file:
        file.write(b'{"id": "half a row')
    began: list[Path] = []

    def noting(content: Any, folder: Path, data_dir: str | None) -> TrialResult:
        if (folder / "run.db").exists():
            began.append(folder)
        return real(content, folder, data_dir)

    monkeypatch.setattr(cases, "run_trial", noting)
    said: list[str] = []
    rows = bench(tiny_request(tmp_path), said.append)
    assert "the last line is left out" in said[0]
    assert began
    assert [row.fingerprint for row in rows] == [row.fingerprint for row in done[1]]
    assert len(read_rows(tmp_path / ROWS)) == len(rows)


def test_a_method_that_does_not_fit_is_a_row_that_says_why(tmp_path: Path) -> None:
    found = bench(tiny_request(tmp_path, suite=tiny(methods=["fedbn"], seeds=[5])), quiet)
    (row,) = [row for row in found if row.method == "fedbn"]
    assert "batch norm" in row.missing
    assert row.mean is None


def fails(monkeypatch: pytest.MonkeyPatch, method: str, run: dict[str, int], why: str) -> None:
    """Runs of a method with such a [run] end with an error."""
    honest = cases.run_trial

    def failing(content: Any, folder: Path, data_dir: str | None) -> TrialResult:
        if content["method"]["name"] == method and content["run"].items() >= run.items():
            raise FedkinError(why)
        return honest(content, folder, data_dir)

    monkeypatch.setattr(cases, "run_trial", failing)


@pytest.mark.rotating
def test_a_seed_that_diverges_stops_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(monkeypatch, "ditto", {"seed": 4}, "round 3: training diverged")
    suite = tiny(methods=["ditto", "fedprox"], seeds=[3, 4], budgets=["rounds"])
    said: list[str] = []
    found = bench(tiny_request(tmp_path, suite=suite), said.append)
    ditto = [row for row in found if row.method == "ditto"]
    assert [(row.seed, row.missing) for row in ditto if row.missing] == [
        (4, "seed 4: round 3: training diverged")
    ]
    assert len([row for row in found if row.method == "fedprox" and row.mean is not None]) == 2
    assert any("ditto  not run: seed 4" in text for text in said)
    assert bench(tiny_request(tmp_path, suite=suite), quiet) == found


@pytest.mark.rotating
@pytest.mark.parametrize("run", [{}, {"seed": 4}])
@pytest.mark.parametrize("method", ["ditto", "fedavg"])
def test_whatever_an_error_says_its_row_can_be_read_again(
    run: dict[str, int], method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that is no row takes all other rows with it."""
    fails(monkeypatch, method, run, f"letters: \udc80\n{'x' * 5000}")
    suite = tiny(seeds=[3, 4])
    found = bench(tiny_request(tmp_path, suite=suite), quiet)
    reasons = [row.missing for row in read_rows(tmp_path / ROWS) if row.missing]
    assert all("letters: \\udc80 xxx" in reason for reason in reasons)
    assert reasons
    assert {row.method for row in found} == {"local", "fedavg", "ditto"}


@pytest.mark.rotating
def test_a_federation_without_fedavg_keeps_equal_rounds_and_stops_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(monkeypatch, "fedavg", {"clients": 4}, "its models differ")
    setting = tiny().settings["digits"].model_dump()
    four = {"title": "Mixed", "spec": {**setting["spec"], "run": {"clients": 4, "rounds": 1}}}
    suite = tiny(settings={"mixed": four, "digits": setting})
    said: list[str] = []
    found = bench(tiny_request(tmp_path, suite=suite), said.append)
    mine = [row for row in found if row.method == "ditto" and row.setting == "mixed"]
    assert [(row.budgets, row.missing) for row in mine] == [
        (("rounds",), ""),
        (
            ("bytes", "compute"),
            "fedavg could not be run, so it sets no such budget: its models differ",
        ),
    ]
    assert mine[0].mean is not None
    (line,) = [text for text in said if "mixed  ditto" in text]
    assert "accuracy 0." in line
    assert line.endswith("; bytes, compute: " + mine[1].missing)
    others = [row for row in found if row.method == "ditto" and row.setting == "digits"]
    assert {budget for row in others for budget in row.budgets} == {"rounds", "bytes", "compute"}
    assert bench(tiny_request(tmp_path, suite=suite), quiet) == found
    only = tiny(settings={"mixed": four}, budgets=["rounds"])
    rows = bench(tiny_request(tmp_path / "rounds", suite=only), quiet)
    assert [row.missing for row in rows if row.method == "ditto"] == [""]


def test_progress_has_the_mean_of_a_suite_without_equal_rounds(tmp_path: Path) -> None:
    said: list[str] = []
    rows = bench(tiny_request(tmp_path, suite=tiny(budgets=["compute"])), said.append)
    (mean,) = [row.mean for row in rows if row.method == "ditto"]
    assert any(f"ditto  accuracy {mean:.4f}  " in text for text in said)


@pytest.mark.rotating
def test_an_earlier_search_that_is_asked_for_again_is_the_last_one(
    tmp_path: Path, done: tuple[Path, list[Row]]
) -> None:
    bench(tiny_request(tmp_path), quiet)
    bench(tiny_request(tmp_path, suite=tiny(rates=[0.01, 0.02])), quiet)
    back = bench(tiny_request(tmp_path), quiet)
    shown = latest_searches(whole_cases(read_rows(tmp_path / ROWS)))
    assert {row.id for row in shown} == {row.id for row in back} == {row.id for row in done[1]}
    size = (tmp_path / ROWS).stat().st_size
    bench(tiny_request(tmp_path), quiet)
    assert (tmp_path / ROWS).stat().st_size == size
    live = LiveRows.of(tmp_path)
    assert live is not None
    assert live.page()[0] == page(whole_cases(read_rows(tmp_path / ROWS)))


def test_a_budget_without_room_for_one_round_is_a_row_that_says_so(tmp_path: Path) -> None:
    spec = tiny().settings["digits"].spec
    short = {"digits": {"title": "Digits", "spec": {**spec, "run": {**spec["run"], "rounds": 1}}}}
    suite = tiny(budgets=["compute"], settings=short)
    found = bench(tiny_request(tmp_path, suite=suite), quiet)
    (row,) = [row for row in found if row.method == "ditto"]
    assert row.missing == cases.NO_ROOM


@pytest.mark.rotating
def test_a_changed_suite_is_held_against_its_own_baselines(tmp_path: Path) -> None:
    bench(tiny_request(tmp_path), quiet)
    spec = tiny().settings["digits"].spec
    larger = {**spec, "model": {"name": "dnn", "hidden": 64}}
    changed = tiny(settings={"digits": {"title": "Digits", "spec": larger}})
    here = bench(tiny_request(tmp_path, suite=changed), quiet)
    alone = bench(tiny_request(tmp_path / "alone", suite=changed), quiet)
    told = [
        [(row.method, row.rounds, row.budgets, row.hurt) for row in rows] for rows in (here, alone)
    ]
    assert told[0] == told[1]


ODD = ["fedala", "hypcluster", "l2sgd"]


@pytest.mark.rotating
def test_no_row_uses_more_of_a_budget_than_it_names(tmp_path: Path) -> None:
    """Methods of which one round is not like the next; fedavg's row of the seed is the measure."""
    spec = tiny().settings["digits"].spec
    small = {**spec, "model": {"name": "dnn", "hidden": 8}, "run": {"clients": 3, "rounds": 8}}
    suite = tiny(
        methods=ODD,
        trials=1,
        rates=[0.1],
        seeds=[3, 4],
        stretch=2,
        settings={"digits": {"title": "Digits", "spec": small}},
    )
    rows = bench(tiny_request(tmp_path, suite=suite), quiet)
    fedavg = {row.seed: row for row in rows if row.method == "fedavg"}
    held = [row for row in rows if row.method in ODD and row.budgets]
    for row in held:
        own = fedavg[row.seed]
        assert "rounds" not in row.budgets or row.rounds == 8
        assert "bytes" not in row.budgets or row.bytes <= 1.05 * own.bytes
        assert "compute" not in row.budgets or row.flops <= 1.05 * own.flops
    named = {(row.method, row.seed, budget) for row in held for budget in row.budgets}
    assert named >= {(method, seed, "rounds") for method in ODD for seed in (3, 4)}
    shorter = [row for row in held if row.method == "hypcluster" and row.rounds < 8]
    assert shorter
    for row in shorter:
        assert row.flops > row.rounds / 8 * fedavg[row.seed].flops


def test_rows_of_another_version_stay_and_are_named(
    tmp_path: Path, done: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    older = {"fedkin": "0.0.1"}
    rows = [
        row.model_copy(update={"versions": older}) if row.method == "ditto" else row
        for row in done[1]
    ]
    append(tmp_path / ROWS, rows)
    monkeypatch.setattr(workers, "rows_of", None)
    said: list[str] = []
    assert bench(tiny_request(tmp_path), said.append) == rows
    own = versions()["fedkin"]
    assert said == [
        "1 of 1 are done already",
        "1 of 1 are done already",
        f"1 of 1 are done already, 1 of them by fedkin 0.0.1, not {own}: another --out measures "
        "them again",
    ]


@pytest.mark.parametrize("name", ["rows.jsonl", ".lock", "runs"])
def test_a_link_in_a_strangers_folder_is_not_written_through(name: str, tmp_path: Path) -> None:
    """One line without an end, such as a key, was cut off as if a bench had been stopped in it."""
    out, victim = tmp_path / "out", tmp_path / "victim"
    out.mkdir()
    victim.mkdir() if name == "runs" else victim.write_text("a key without an end")
    (out / name).symlink_to(victim)
    with pytest.raises(FedkinError, match="is a link"):
        bench(tiny_request(out), quiet)
    assert victim.is_dir() or victim.read_text() == "a key without an end"


def test_what_a_run_multiplied_is_numbers(tmp_path: Path) -> None:
    (tmp_path / KEPT).write_text('{"setup 0": "x", "round 1": 3, "finish 2": [1], "round 2": true}')
    assert _read(tmp_path) == {"round 1": 3}
    (tmp_path / KEPT).write_text("[1]")
    assert _read(tmp_path) == {}
