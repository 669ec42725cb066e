"""fedkin sweep on a real Optuna study in SQLite."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import FedkinError, Halted
from fedkin.experiment.training import Interrupted
from fedkin.runs.database import read_only
from fedkin.runs.spec import Spec
from fedkin.sweep import SAMPLERS, space_of
from tests.cli.command import fedkin, once, told
from tests.report.records_for_tests import write
from tests.sweep.study_examples import QUICK

optuna = pytest.importorskip("optuna")


def test_a_grid_is_done_once_and_the_best_is_by_validation(tmp_path: Path) -> None:
    asked = [
        "sweep",
        *QUICK,
        "--space",
        "train.lr=0.0001, 0.3",
        "--out",
        str(tmp_path / "s"),
        "--json",
    ]
    found = json.loads(fedkin(*asked, "--trials", "1").stdout)
    assert len(found["trials"]) == 1
    found = json.loads(fedkin(*asked).stdout)  # goes on
    assert {row["train.lr"] for row in found["trials"]} == {0.0001, 0.3}
    assert found["best"]["train.lr"] == 0.3
    assert {row["rounds"] for row in found["trials"]} == {2}
    assert len(list((tmp_path / "s").glob("*/run.db"))) == 2
    again = json.loads(fedkin(*asked).stdout)
    assert again == found
    wrong = fedkin(*asked[:-1], "--set", "train.batch_size=7")
    assert "another experiment" in wrong.output


@pytest.mark.rotating
def test_a_study_goes_on_with_its_own_data_only(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{c},{x}.5,{x % 2}" for c in "abcd" for x in range(20)]
    table.write_text("\n".join(["client,x,label", *rows]))
    whose = [f"--set={s}" for s in (f"data.name={table}", "data.client=client", "data.label=label")]
    asked = [
        "sweep",
        QUICK[0],
        QUICK[1],
        *QUICK[3:],
        *whose,
        "--space",
        "train.lr=0.1, 0.2",
        "--out",
        tmp_path / "s",
    ]
    assert fedkin(*asked, "--trials", "1").exit_code == 0
    before = table.read_text()
    table.write_text(before.replace("7.5", "8.5"))
    assert told(*asked) == (
        f"{tmp_path / 's'} holds a sweep that began with other data: put them back, or choose "
        "another --out"
    )
    assert len(list((tmp_path / "s").glob("*/run.db"))) == 1
    table.write_text(before)
    assert fedkin(*asked).exit_code == 0
    assert len(list((tmp_path / "s").glob("*/run.db"))) == 2


def test_a_regressions_loss_is_shown_as_it_is(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [
        f"{c},{x % 7},{3 * (x % 7) + len(c)}.5"
        for c in ("a", "bb", "ccc", "dddd")
        for x in range(20)
    ]
    table.write_text("\n".join(["client,x,label", *rows]))
    whose = [
        f"--set={s}"
        for s in (f"data.name={table}", "data.client=client", "data.label=label", "model=glm")
    ]
    asked = [
        "sweep",
        QUICK[0],
        QUICK[1],
        QUICK[4],
        *whose,
        "--space",
        "train.lr=0.001, 0.05",
        "--out",
        tmp_path / "s",
    ]
    done = fedkin(*asked)
    lines = done.stdout.splitlines()  # of which some go on with a long path's rest
    best, other = (line.split() for line in lines if re.match(r"\s*\d=?\s+\d+\.\d{4}\s", line))
    assert "validation RMSE" in " ".join(done.stdout.split())
    assert (best[0], best[2], other[0], other[2]) == (
        "1",
        "0.05",
        "2",
        "0.001",
    )  # all four clients are better off
    assert 0 < float(best[1]) < float(other[1])  # the lower one is the better one
    assert f"validation RMSE {best[1]}" in done.stderr
    found = json.loads(fedkin(*asked, "--json").stdout)["best"]
    assert found["measure"] == "rmse"
    assert f"{found['validation']:.4f}" == best[1]


def test_all_that_is_in_a_sweeps_folder_is_compared_but_for_its_own_files(tmp_path: Path) -> None:
    out = tmp_path / "s"
    for number, name in enumerate(("one", "two")):
        write(out / name, hyper={"lam": number})
    for name in ("study.db", "page.md"):
        (out / name).write_text("")
    done = fedkin("compare", *sorted(out.iterdir()), "--json")
    assert [row["run"] for row in json.loads(done.stdout)["runs"]] == ["one", "two"]
    said = (
        f"note: passed over, for files of a sweep are no runs: {out / 'page.md'}, "
        f"{out / 'study.db'}\n"
    )
    assert done.stderr == said
    assert "is not a run directory" in told("compare", out / "study.db")


def test_tpe_samples_ranges(tmp_path: Path) -> None:
    asked = [
        "sweep",
        *QUICK,
        "--space",
        "train.lr=log 0.001 .. 0.3",
        "--sampler",
        "tpe",
        "--trials",
        "2",
    ]
    found = json.loads(fedkin(*asked, "--out", str(tmp_path / "s"), "--json").stdout)
    assert all(0.001 <= row["train.lr"] <= 0.3 for row in found["trials"])


@pytest.mark.rotating
def test_two_processes_share_a_study(tmp_path: Path) -> None:
    """Each point of the grid is tried once, whoever tries it; both are at work."""
    asked = [
        "sweep",
        *QUICK,
        "--space",
        "train.lr=0.01, 0.03, 0.1, 0.3",
        "--out",
        str(tmp_path / "s"),
        "--json",
    ]
    both = [started(asked) for _ in range(2)]
    answers = [process.communicate(timeout=600) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    found = json.loads(fedkin(*asked).stdout)
    assert sorted(row["train.lr"] for row in found["trials"]) == [0.01, 0.03, 0.1, 0.3]
    assert len(list((tmp_path / "s").glob("*/run.db"))) == 4
    assert found["running"] == 0


@pytest.mark.rotating
def test_a_killed_process_leaves_its_trial_to_the_next(tmp_path: Path) -> None:
    long = ["--set=run.rounds=100", "--set=run.commit_every=0"]
    asked = [
        "sweep",
        *QUICK,
        *long,
        "--space",
        "train.lr=0.1",
        "--out",
        str(tmp_path / "s"),
        "--json",
    ]
    process = started(asked)
    while (before := last_round(tmp_path / "s")) < 1:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert before < 100
    (record,) = (tmp_path / "s").glob("*/run.db")
    (trial,) = json.loads(fedkin(*asked).stdout)["trials"]
    assert Path(trial["run"]) == record.parent  # the same trial, gone on with
    assert len(list((tmp_path / "s").glob("*/run.db"))) == 1


def test_a_trial_that_was_asked_for_and_has_no_folder_is_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between Optuna's trial and its folder: no trial 3 of 2, and no point is lost."""
    asked = ["sweep", *QUICK, "--space", "train.lr=0.1, 0.2", "--out", tmp_path / "s", "--json"]
    with monkeypatch.context() as patch:
        patch.setattr("fedkin.sweep.study.drawn", stopped)
        assert fedkin(*asked).exit_code == 130
    done = fedkin(*asked)
    begun = [line.split(" train.lr")[0] for line in done.stderr.splitlines() if "= " in line]
    assert [one.strip() for one in begun] == ["trial 1 of 2", "trial 2 of 2"]
    assert sorted(row["train.lr"] for row in json.loads(done.stdout)["trials"]) == [0.1, 0.2]


def test_a_trial_that_diverges_is_lost_and_the_others_go_on(tmp_path: Path) -> None:
    asked = ["sweep", *QUICK, "--space", "train.lr=1e39, 0.1", "--out", str(tmp_path / "s")]
    found = json.loads(fedkin(*asked, "--json").stdout)
    assert [row["train.lr"] for row in found["trials"]] == [0.1]
    assert "diverged" in found["lost"][0]["lost"]
    assert "has no value" in fedkin(*asked).stdout
    alone = fedkin("sweep", *QUICK, "--space", "train.lr=1e39", "--out", str(tmp_path / "t"))
    assert alone.exit_code == 2
    assert "no trial has a value: round 1: training diverged" in alone.output


def test_a_trial_that_this_machine_stopped_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        "sweep",
        *QUICK,
        "--space",
        "train.lr=0.1, 0.10, 0.2",
        "--out",
        str(tmp_path / "s"),
        "--json",
    ]

    def full(*_: object, **__: object) -> None:
        raise Halted("s cannot be written: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("fedkin.sweep.study.run", full)
        assert "No space left" in fedkin(*asked).stderr
    found = json.loads(fedkin(*asked).stdout)
    assert sorted(row["train.lr"] for row in found["trials"]) == [
        0.1,
        0.2,
    ]  # a value that was given twice is one
    assert not found["lost"]


@pytest.mark.rotating
@pytest.mark.parametrize("damage", ["record", "specification"])
def test_a_damaged_run_directory_costs_no_point_of_the_grid(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial runs again in a new folder; the damaged one stays as it is."""
    out = tmp_path / "s"
    asked = ["sweep", *QUICK, "--space", "train.lr=0.1, 0.2", "--out", str(out), "--json"]

    def cut_off(spec: Any, folder: Path, **_: object) -> None:
        folder.mkdir()
        (folder / "experiment.toml").write_text("[run" if damage == "specification" else "")
        if damage == "record":
            (folder / "run.db").write_bytes(b"half a record")
        raise Halted("the machine went down")

    with monkeypatch.context() as patch:
        patch.setattr("fedkin.sweep.study.run", cut_off)
        assert "went down" in fedkin(*asked).stderr
    (damaged,) = (path.parent for path in out.glob("*/experiment.toml"))
    before = {path.name: path.read_bytes() for path in damaged.iterdir() if path.is_file()}
    done = fedkin(*asked)
    found = json.loads(done.stdout)
    assert sorted(row["train.lr"] for row in found["trials"]) == [0.1, 0.2]
    assert not found["lost"]
    assert f"note: trial 1 begins anew in {damaged}-2: " in done.stderr
    assert f"{damaged}-2" in [row["run"] for row in found["trials"]]
    assert {name: (damaged / name).read_bytes() for name in before} == before
    study = optuna.load_study(study_name="sweep", storage=f"sqlite:///{out / 'study.db'}")
    left = [trial.user_attrs.get("left") for trial in study.trials]
    assert [damaged.name] in left  # the noise of its rounds is spent


@pytest.mark.rotating
def test_a_map_of_models_is_searched(tmp_path: Path) -> None:
    quick = [one for one in QUICK if "method" not in one and "model" not in one]
    settings = [
        "--set=method=fedmd",
        '--set=model.map={a = "mlr", b = "mlr"}',
        "--set=public.source=held-out",
        "--set=public.labeled=true",
    ]
    asked = [
        "sweep",
        *quick,
        *settings,
        "--space",
        "model.map.a=mlr, dnn",
        "--out",
        str(tmp_path / "s"),
        "--json",
    ]
    found = json.loads(fedkin(*asked).stdout)
    assert not found["lost"]
    assert {row["model.map.a"] for row in found["trials"]} == {"mlr", "dnn"}


def test_processes_do_not_draw_alike(tmp_path: Path) -> None:
    """A second process begins where the first one's draws end, not with the same ones."""
    asked = [
        "sweep",
        *QUICK,
        "--space",
        "train.lr=log 0.001 .. 0.3",
        "--sampler",
        "tpe",
        "--out",
        str(tmp_path / "s"),
    ]
    fedkin(*asked, "--trials", "1")
    found = json.loads(fedkin(*asked, "--trials", "2", "--json").stdout)
    assert len({row["train.lr"] for row in found["trials"]}) == 2


def last_round(study: Path) -> int:
    """Of the one run of a study; -1 before there is one."""
    for path in study.glob("*/run.db"):
        with read_only(path.parent) as database:
            return database.last_round()
    return -1


def started(asked: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "fedkin", *once(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--space", "train.rate=1"], "train.rate"),
        (["--space", "rats"], "did you mean 'rates'"),
        (["--space", "run.rounds=1, 2"], "different data or budgets"),
        (["--space", "alpha=1, 2"], "different data or budgets"),
        (["--space", "global_rounds=1, 2"], "different data or budgets"),
        (["--space", "public.samples=20, 200"], "different data or budgets"),
        (["--space", "audit.canaries=0, 20"], "different data or budgets"),
        (["--space", "privacy.budget=1, 2"], "different data or budgets"),
        (["--space", "engine.block=1, 2"], "[engine] changes no result"),
        (["--space", "method.name=ds_fl, fedavg"], 'public.source = "held-out"'),
        (["--space", "lr=0.1, 0.2"], "lr is called train.lr here"),
        (["--space", "train.lr=0.1 .. 0.2"], "a grid needs values"),
        (
            ["--sampler", "tpe", "--space", "train.lr=0.5 .. 0.1"],
            "the first number must be the smaller one",
        ),
        (["--sampler", "tpe", "--space", "train.lr=log 0 .. 0.1"], "with log above 0"),
        (
            ["--sampler", "tpe", "--space", "train.lr=0.1 .. inf"],
            "the first number must be the smaller one",
        ),
        ([], "nothing to search"),
        (
            ["--space", "method.lam=1, 2"],
            "unknown fedavg hyper-parameter 'lam' (choices: lr, weights)",
        ),
        (["--space", "cgpfl"], "unknown fedavg hyper-parameter"),
        (
            ["--space", "method.name=comet, fedavg", "--space", "method.lam=1, 2"],
            "unknown fedavg hyper-parameter 'lam'",
        ),
        (["--space", "method.name=comet, fedavgg"], "did you mean 'fedavg'"),
        (["--set=method=comet", "--space", "method.lam=1, -2"], "lam"),
        (["--set=method=comet", "--space", "method.lam=1, many"], "method.lam of comet: "),
        (
            [
                "--set=method=comet",
                "--sampler=tpe",
                "--trials=2",
                "--space",
                "method.clusters=2.1 .. 2.9",
            ],
            "method.clusters of comet: ",
        ),
        (
            ["--set=model=dnn", "--space", "model.hiden=10, 20"],
            "unknown option of model 'dnn' 'hiden': did you mean 'hidden'?",
        ),
        (
            ["--set=model=dnn", "--space", "model.hidden=10, wide"],
            "model.hidden of dnn is a whole number from 1 on, not 'wide'",
        ),
        (["--measure=rmse", "--space", "train.lr=0.1"], "run.measure = 'rmse' is not for classes"),
        (["--set=method=fedmd", "--space", "train.lr=0.1"], "fedmd needs a labeled public set"),
        (["--space", "method.name=fedavg, fedmd"], "fedmd needs a labeled public set"),
        (["--space", "model.name=dnn, mpl"], "unknown model 'mpl': did you mean 'mlr'?"),
        (
            ["--space", "model.name=dnn, mlr", "--space", "model.hidden=10"],
            "unknown option of model 'mlr' 'hidden'",
        ),
    ],
)
def test_mistakes_are_told_before_training(asked: list[str], said: str, tmp_path: Path) -> None:
    result = fedkin("sweep", *QUICK, *asked, "--out", str(tmp_path / "s"))
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "s").exists()


def test_a_runs_folder_takes_no_sweep(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").touch()
    refused = fedkin("sweep", *QUICK, "--space", "train.lr=0.1", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "is the folder of a run: choose another --out" in " ".join(refused.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["experiment.toml"]


def test_a_folder_of_other_runs_takes_no_sweep(tmp_path: Path) -> None:
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "experiment.toml").touch()
    refused = fedkin("sweep", *QUICK, "--space", "train.lr=0.1", "--out", tmp_path / "runs")
    assert refused.exit_code == 2
    said = " ".join(refused.output.split())
    assert "runs holds 1 run and no sweep: choose another --out" in said
    assert f"such as {tmp_path / 'runs' / 'sweep'}" in said
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine"]


def test_every_trial_is_told(tmp_path: Path) -> None:
    asked = [
        *QUICK[:-1],
        "--set=method=comet",
        "--space",
        "method.clusters=2, 9",
        "--out",
        str(tmp_path / "s"),
    ]
    done = fedkin("sweep", *asked)
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stderr.splitlines() if line.startswith("trial")]
    assert len(lines) == 4
    assert sum("method.clusters = 9" in line for line in lines) == 1
    assert sum("no value: " in line and "9" in line for line in lines) == 1
    assert sum("validation accuracy 0." in line for line in lines) == 1


def test_a_folder_is_free_again_after_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ["--space", "train.lr=0.1, 0.2", "--out", str(tmp_path / "s"), "--json"]
    assert "set split.val above 0" in told("sweep", *QUICK, "--set=split.val=0", *where)
    assert "did you mean 'fedavg'" in told("sweep", *QUICK, "--set=method=fedavgg", *where)
    with monkeypatch.context() as patch:
        patch.setattr("fedkin.sweep.study.run", stopped)
        assert fedkin("sweep", *QUICK, *where).exit_code == 130
    found = json.loads(
        fedkin("sweep", *QUICK, "--set=train.batch_size=7", *where).stdout
    )  # another experiment
    assert len(found["trials"]) == 2
    assert "train.batch_size" not in found["best"]
    assert "another experiment" in fedkin("sweep", *QUICK, *where).output


def stopped(*_: object, **__: object) -> None:
    raise Interrupted("stopped")


def test_a_study_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "study.db").write_text("no database")
    assert "study.db is not a readable study" in told(
        "sweep", *QUICK, "--space", "train.lr=0.1", "--out", tmp_path / "s"
    )
    (tmp_path / "file").write_text("")
    assert "cannot be made" in told(
        "sweep", *QUICK, "--space", "train.lr=0.1", "--out", tmp_path / "file" / "s"
    )


def test_a_grid_has_every_point_whoever_began_it() -> None:
    """TPE takes points again: they are trials, and no points."""
    space = space_of(["train.lr=0.1, 0.2"])
    total_of, _ = SAMPLERS["grid"](optuna, 0, space, None)
    same = [{"train.lr": 0.1}] * 2
    assert [total_of([]), total_of(same), total_of([*same, {"train.lr": 0.2}])] == [2, 3, 3]
    assert SAMPLERS["grid"](optuna, 0, space, 2)[0](same) == 2


def test_a_study_goes_on_with_the_code_of_its_own_that_it_began_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fedkin.sweep import study

    def studied(folder: Path, code: dict[str, str]) -> Any:
        folder.mkdir(exist_ok=True)
        return study._study(folder, Spec(), space_of(["train.lr=0.1"]), "data", code)

    one = studied(tmp_path / "a", {"mine:net": "1"})
    one.tell(one.ask(), 0.5)
    assert studied(tmp_path / "a", {"mine:net": "1"}).trials
    with pytest.raises(FedkinError, match="began with other code of mine:net: put it back, or"):
        studied(tmp_path / "a", {"mine:net": "2"})
    (tmp_path / "b").mkdir()
    known = {"fedkin": one.user_attrs["fedkin"], "data": "data"}  # as studies were before
    study.check_database(tmp_path / "b" / "study.db", optuna)
    where = study.address(tmp_path / "b" / "study.db")
    older = optuna.create_study(storage=where, study_name="sweep", direction="maximize")
    for name, value in known.items():
        older.set_user_attr(name, value)
    assert studied(tmp_path / "b", {"mine:net": "1"}).user_attrs == known
    assert "does not say which code of your own" in capsys.readouterr().err
