"""kill -9 at any moment, then resume: the numbers of a run that was left alone, and nothing
half-written is read.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import pytest
import tomli_w

from fedkin.core.errors import FedkinError
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.runs.database import read_only
from fedkin.setup.loaded_run import load
from tests.engine.small import METHODS, content, forking, outcome, small
from tests.faults import dying

QUICK = {"run__clients": 3, "run__rounds": 2}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """method → the outcome of a run that was left alone."""
    known: dict = {}

    def get(method: str, **settings):
        key = (method, *sorted(settings.items()))
        if key not in known:
            known[key] = outcome(
                run(small(method, **settings), tmp_path_factory.mktemp(method) / "run")
            )
        return known[key]

    return get


def child(fatal: int, spec: Path, folder: Path, again: bool = False) -> int | None:
    """dying.py in a forked process: how it ended. (Forked, so that torch is not imported anew 200
    times.)
    """
    process = forking().Process(target=dying.quiet, args=(fatal, spec, folder, again))
    process.start()
    process.join(600)
    assert process.exitcode is not None, "it hangs"
    return process.exitcode


def written(tmp_path: Path, method: str, **settings) -> Path:
    path = tmp_path / "spec.toml"
    if not path.exists():
        sections = content(method, **settings)
        path.write_text(tomli_w.dumps(sections))
    return path


def readable(folder: Path) -> None:
    """Whatever is committed can be looked at at once, by somebody who may be about to resume or
    not.
    """
    if (folder / "run.db").exists():
        with read_only(folder) as database:
            rounds = [
                number for (number,) in database.rows("SELECT round FROM rounds ORDER BY round")
            ]
            assert rounds == list(range(len(rounds)))
            assert database.rows("SELECT count(*) FROM clients") != [(0,)]
        if rounds:
            load(folder)


def again(spec: Path, folder: Path) -> None:
    """What a user does after a crash: resume; where nothing had begun, the same command
    once more.
    """
    if (folder / "experiment.toml").exists():
        resume(folder)
    else:
        assert not (folder / "run.db").exists()
        run(dying.experiment(dying.read(spec)[0]), folder)


def steps_of(tmp_path: Path, method: str, **settings) -> int:
    """How many steps an undisturbed run takes."""
    counted = tmp_path / "steps"
    process = forking().Process(
        target=dying.tell, args=(written(tmp_path, method, **settings), tmp_path / "count", counted)
    )
    process.start()
    process.join(600)
    return int(counted.read_text())


def killed_at(fatal: int, tmp_path: Path, method: str, expected, **settings) -> None:
    folder = tmp_path / f"{method}-{fatal}"
    spec = written(tmp_path, method, **settings)
    assert child(fatal, spec, folder) == -signal.SIGKILL
    readable(folder)
    again(spec, folder)
    assert outcome(folder) == expected
    assert not list((folder / "checkpoint").glob("*.part"))


def spread(total: int, number: int, seed: int) -> list[int]:
    return sorted(random.Random(seed).sample(range(1, total + 1), min(number, total)))


@pytest.mark.rotating
@pytest.mark.parametrize(
    "chosen",
    [
        lambda total: spread(total, 14, 1),
        pytest.param(lambda total: range(1, total + 1), marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
def test_killed_at_every_step(chosen, tmp_path, plain):
    # every step of the first commits and of the end, for a method with state on both sides
    settings = {**QUICK, "run__rounds": 1, "run__clients": 2}
    expected = plain("pfedme", **settings)
    total = steps_of(tmp_path, "pfedme", **settings)
    assert total > 60
    for fatal in chosen(total):
        killed_at(fatal, tmp_path, "pfedme", expected, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_killed_at_every_step_of_every_method(method, tmp_path, plain):
    total = steps_of(tmp_path, method, **QUICK)
    for fatal in range(1, total + 1):
        killed_at(fatal, tmp_path, method, plain(method, **QUICK), **QUICK)


# every third: the nightly test above has all methods, at every step
@pytest.mark.rotating
@pytest.mark.parametrize(
    ("method", "state"), list(zip(list(METHODS)[::3], cycle(["memory", "disk"])))
)
def test_killed_at_some_steps(method, state, tmp_path, plain):
    settings = {**QUICK, "engine__state": state}
    total = steps_of(tmp_path, method, **settings)
    for fatal in spread(total, 1, seed=len(method + state)):
        killed_at(fatal, tmp_path, method, plain(method, **QUICK), **settings)


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["comet", "persfl"])
def test_killed_again_and_again(method, tmp_path, plain):
    """Every attempt is killed a few steps later than it began; each still gets further than the one
    before.
    """
    folder = tmp_path / "run"
    spec = written(tmp_path, method, **QUICK)
    fatal = 30
    attempts = 0
    if child(fatal, spec, folder) == 0:
        pytest.fail("the run should have been killed")
    while child(fatal, spec, folder, again=(folder / "experiment.toml").exists()) != 0:
        readable(folder)
        attempts += 1
        fatal += 7
        assert attempts < 40
    assert attempts > 2
    assert outcome(folder) == plain(method, **QUICK)


def test_killed_within_a_transaction(tmp_path, plain):
    """SQLite is left with a journal that must be rolled back; reading does that too."""
    folder = tmp_path / "run"
    expected = plain("fedavg", **QUICK)

    def stop(record):
        if record.round == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(small("fedavg", **QUICK), folder, progress=stop)

    process = forking().Process(target=dying.within_a_transaction, args=(folder,))
    process.start()
    process.join()
    assert (folder / "run.db-journal").exists()
    readable(folder)
    with read_only(folder) as database:
        assert database.last_round() == 1
        assert database.rows("SELECT count(*) FROM events") == [(0,)]
    assert outcome(resume(folder)) == expected


SERIOUS = {"run__rounds": 12, "run__commit_every": 0.05}


def command(*args: object) -> subprocess.Popen:
    """The real command, in a process group of its own."""
    line = [sys.executable, "-c", "from fedkin.cli.app import main; main()", *map(str, args)]
    return subprocess.Popen(
        line, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def began(folder: Path, process: subprocess.Popen, limit: float = 600) -> None:
    """Wait for the first commit."""
    end = time.monotonic() + limit
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(FedkinError), read_only(folder) as database:
            if database.last_round() >= 1:
                return
        time.sleep(0.02)
    raise AssertionError(
        "no round was committed: "
        f"{process.stderr.read().decode() if process.poll() else 'too slow'}"
    )


@pytest.mark.rotating
@pytest.mark.parametrize(
    "whole_group",
    [pytest.param(True, marks=pytest.mark.slow), False],
    ids=["group", "coordinator"],
)
def test_a_real_command_is_killed(whole_group, tmp_path, plain):
    """The command with worker processes, killed from outside at a random moment; workers alone end
    by themselves.
    """
    settings = {**SERIOUS, "engine__name": "processes", "engine__workers": 2, "run__rounds": 20}
    expected = plain("ppfl", run__rounds=20)
    spec, folder = written(tmp_path, "ppfl", **settings), tmp_path / "run"
    for _ in range(9):
        process = command("run", spec, "--out", folder)
        began(folder, process)
        time.sleep(random.Random(f"kill {whole_group}").random() * 0.3)
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        said = process.stderr.read().decode()  # ends when the last worker has ended
        assert "Traceback" not in said
        readable(folder)
        with read_only(folder) as database:
            if not database.facts()["finished"]:
                break
        shutil.rmtree(folder)  # it was over before this process had its turn
    else:
        raise AssertionError("the run was over before it was killed: give it more rounds")
    assert outcome(resume(folder, workers=1)) == expected


def test_ctrl_c_finishes_the_round_and_says_how_to_go_on(tmp_path, plain):
    settings = {"run__rounds": 6, "run__commit_every": 1e9}

    def stop(record):
        if record.round == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"after round 3; continue with: fedkin resume .*run"):
        run(small("cgpfl", **settings), tmp_path / "run", progress=stop)
    with read_only(tmp_path / "run") as database:
        assert database.last_round() == 3
    done = outcome(resume(tmp_path / "run"))
    assert {**done, "states": 0} == {**plain("cgpfl", run__rounds=6), "states": 0}
