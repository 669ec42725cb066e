"""Same seed, same bits: whichever engine, however many workers, interrupted or not, states in
memory or on disk.
"""

import shutil
from functools import cache
from pathlib import Path

import pytest

from fedkin.engine.transports import processes
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.methods import METHODS as ALL
from fedkin.runs.database import read_only
from tests.engine.small import FORKED, METHODS, SETTINGS, outcome, outcome_of, small
from tests.some_methods import some

EXTRA = {  # further forms of a method: (method, settings)
    "comet-two-models": ("comet", {"model__map": {"a": "mlr", "b": "dnn"}}),
    "feddf-two-models": ("feddf", {"model__map": {"a": "mlr", "b": "dnn"}, "model__rule": "turn"}),
    "local-two-models": ("local", {"model__map": {"a": "mlr", "b": "dnn"}, "model__rule": "turn"}),
    "ppfl-random-2": (
        "ppfl",
        {
            "method__schedule": "random",
            "method__structure": 2,
            "method__theta_share": 0.4,
            "run__seed": 5,
        },
    ),
    "persfl-gd": ("persfl", {"method__objective": "gd", "method__teacher": "final"}),
    "ditto-panel": ("ditto", {"run__evaluate": "panel:2"}),
    "fedavg-participants": ("fedavg", {"run__evaluate": "participants"}),
    "fedavg-epochs": ("fedavg", {"train__steps": None, "train__epochs": 2, "split__alpha": 0.2}),
    "fedavg-kept": (
        "fedavg",
        {"train__momentum": 0.9, "train__state": "kept", "train__weight_decay": 0.01},
    ),
    "fedrep-kept-server-adam": (
        "fedrep",
        {
            "train__optimizer": "adamw",
            "train__state": "kept",
            "train__clip": 0.5,
            "server__optimizer": "adam",
            "server__lr": 0.3,
        },
    ),
    "fedem-server-yogi": (
        "fedem",
        {"train__momentum": 0.5, "train__nesterov": True, "server__optimizer": "yogi"},
    ),
}
STATELESS = {"centralized", "fedavg", "feddf", "fedprox", "per_fedavg"}  # clients keep nothing
CASES = {**{name: (name, {}) for name in METHODS}, **EXTRA}
TRAINED = [*some(METHODS), *EXTRA]  # as parameters, some of them slow


@cache
def plain(case: str) -> dict:
    """The outcome of an uninterrupted run in process: what all others must give."""
    return outcome_of(spec(case))


def spec(case: str, **settings):
    method, own = CASES[case]
    return small(method, **{**own, **settings})


class Stop(Exception):
    """Raised from the progress callback: the run ends there, as it would if the machine did."""


def stopping_after(number: int):
    def progress(record) -> None:
        if record.round == number:
            raise Stop

    return progress


def interrupted(case: str, out: Path, after: int, **settings) -> Path:
    with pytest.raises(Stop):
        run(spec(case, **settings), out, progress=stopping_after(after))
    with read_only(out) as database:
        assert not database.facts()["finished"]
    return out


@pytest.fixture
def forked(monkeypatch):
    """Worker processes that start at once: forked, not imported anew. Everything else is as in a
    real run.
    """
    monkeypatch.setattr(processes, "subprocess", FORKED)


def test_settings_are_of_methods_that_there_are():
    assert set(SETTINGS) <= set(ALL) == set(METHODS)


@pytest.mark.rotating
@pytest.mark.parametrize("case", TRAINED)
def test_runs_are_meaningful(case):
    done = plain(case)
    assert {row[0] for row in done["rounds"]} == set(range(5))  # setup, three rounds, finish
    assert not done["events"]
    personal = {bytes_ for client, bytes_ in done["states"].items() if client >= 0}
    nothing = CASES[case][0] in STATELESS and spec(case).train.state != "kept"
    assert len(personal) == (0 if nothing else len(done["states"]) - 1)  # clients differ


@pytest.mark.rotating
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("case", TRAINED)
def test_worker_processes(case, workers, tmp_path, forked):
    done = run(spec(case, engine__name="processes", engine__workers=workers), tmp_path / "run")
    assert outcome(done) == plain(case)


@pytest.mark.rotating
@pytest.mark.parametrize("state", ["disk", pytest.param("memory", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", TRAINED)
def test_interrupted_after_every_kind_of_round(case, state, tmp_path):
    """After the setup, amid the rounds, after the work at the end: the run goes on each time."""
    folder = interrupted(case, tmp_path / "run", 0, engine__state=state)
    for after in (2, 4):
        with pytest.raises(Stop):
            resume(folder, progress=stopping_after(after))
        with read_only(folder) as database:
            assert (database.last_round(), database.facts()["finished"]) == (after, False)
    assert outcome(resume(folder)) == plain(case)
    assert not (folder / "state").exists()


@pytest.mark.rotating
@pytest.mark.parametrize("case", TRAINED)
def test_rounds_after_the_last_commit_are_done_again(case, tmp_path):
    # nothing is committed before the end: what a killed run left on disk must not leak into its
    # repetition
    folder = interrupted(case, tmp_path / "run", 2, engine__state="disk", run__commit_every=1e9)
    with read_only(folder) as database:
        assert database.last_round() == -1
    assert resume(folder) == folder
    assert {**outcome(folder), "states": 0} == {**plain(case), "states": 0}


def test_states_of_lost_rounds_are_not_read(tmp_path):
    # round 2 was lost with its states in the store on disk; one client was in round 2 and in none
    # before
    folder = interrupted("local", tmp_path / "run", 1, engine__state="disk", run__participation=0.2)
    (folder / "state").mkdir(exist_ok=True)
    other = run(spec("local", run__participation=0.2, run__seed=4), tmp_path / "other")
    for path in (other / "checkpoint").iterdir():
        shutil.copy(
            path,
            folder / "state" / f"{path.name.split('.')[0].replace('server', '99')}.safetensors",
        )
    expected = outcome(run(spec("local", run__participation=0.2), tmp_path / "plain"))
    assert outcome(resume(folder)) == expected


@pytest.mark.rotating
@pytest.mark.parametrize("case", ["comet-two-models", "persfl"])
def test_workers_may_change_on_resume(case, tmp_path, forked):
    settings = {"engine__name": "processes", "engine__workers": 2}
    folder = interrupted(case, tmp_path / "run", 2, **settings)
    assert outcome(resume(folder, workers=3)) == plain(case)
    shutil.rmtree(folder)
    folder = interrupted(case, tmp_path / "run", 1, **settings, engine__state="disk")
    assert outcome(resume(folder, workers=1)) == plain(case)


@pytest.mark.rotating
@pytest.mark.parametrize("case", TRAINED)
def test_order_of_work_and_of_answers(case, tmp_path, monkeypatch):
    """Clients work in another order, so that nothing of one client's work may reach the next, and
    their answers come in a third one.
    """

    def shuffled(self, op, round, orders):
        worked = sorted(orders, key=lambda order: (order.client * 5) % 7)
        answers = list(self.host.do(op, round, worked))
        return sorted(answers, key=lambda answer: -answer.client)

    expected = plain(case)
    monkeypatch.setattr(InProcess, "ask", shuffled)
    assert outcome(run(spec(case), tmp_path / "run")) == expected


DRAWING = ("fedavg", "comet", "persfl", "ppfl-random-2", "fedavg-participants")  # some of all kinds


@pytest.mark.parametrize("case", DRAWING)
def test_another_seed_gives_other_models(case, tmp_path):
    assert (
        outcome(run(spec(case, run__seed=44), tmp_path / "run"))["fingerprint"]
        != plain(case)["fingerprint"]
    )


@pytest.mark.rotating
def test_real_worker_processes(tmp_path):
    done = run(spec("comet", engine__name="processes", engine__workers=2), tmp_path / "run")
    assert outcome(done) == plain("comet")


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fedavg", "comet"])
def test_compiled(case, tmp_path, forked):
    compiled = {"engine__compile": "always"}
    expected = outcome(run(spec(case, **compiled), tmp_path / "plain"))
    folder = interrupted(case, tmp_path / "stopped", 2, **compiled)
    assert outcome(resume(folder)) == expected
    workers = {"engine__name": "processes", "engine__workers": 2}
    assert outcome(run(spec(case, **compiled, **workers), tmp_path / "processes")) == expected
    with read_only(tmp_path / "plain") as database:
        assert database.facts()["said"] == []
