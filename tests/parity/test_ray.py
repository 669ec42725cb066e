"""Hosts as Ray actors give the bits of one process; what an actor's end leaves can be resumed."""

from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs the extra ray")

import ray

from fedkin.core.errors import FedkinError
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from tests.engine.small import METHODS, outcome, outcome_of, small

pytestmark = pytest.mark.slow
ENGINE = {"engine__name": "ray", "engine__workers": 2}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """One cluster for all tests here: starting one takes seconds."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_same_bits(method, tmp_path):
    assert outcome(run(small(method, **ENGINE), tmp_path / "ray")) == outcome_of(small(method))


@pytest.mark.parametrize("method", ["fedavg", "ditto"])
def test_frozen_parameters_reach_every_actor(method, tmp_path):
    body = {"model__name": "dnn", "model__hidden": 5, "model__frozen": "body"}
    assert outcome(run(small(method, **body, **ENGINE), tmp_path / "ray")) == outcome(
        run(small(method, **body), tmp_path / "plain")
    )


@pytest.mark.parametrize("asked", ["panel:2", "participants"])
def test_the_same_clients_are_evaluated(asked, tmp_path):
    spec = {"run__evaluate": asked, "run__participation": 0.5}
    assert outcome(run(small("ditto", **spec, **ENGINE), tmp_path / "ray")) == outcome(
        run(small("ditto", **spec), tmp_path / "plain")
    )


def test_a_lost_actor_ends_the_run_which_resumes(tmp_path, monkeypatch):
    from fedkin.engine.transports.ray import Actors

    ask = Actors.ask

    def losing(self, op, round, orders):
        if op == "local" and round == 2:
            ray.kill(self._actors[1])
        yield from ask(self, op, round, orders)

    with monkeypatch.context() as patched:
        patched.setattr(Actors, "ask", losing)
        with pytest.raises(
            FedkinError,
            match=r"Ray actor 1 ended .*; what is committed can be .*--workers 1.: fedkin resume ",
        ):
            run(small("ditto", **ENGINE), tmp_path / "ray")
    resume(tmp_path / "ray")
    assert outcome(tmp_path / "ray") == outcome(run(small("ditto"), tmp_path / "plain"))


def test_more_workers_than_cores_are_refused(tmp_path):
    with pytest.raises(FedkinError, match=r"the Ray cluster has 2 cores, engine.workers is 3"):
        run(small("fedavg", engine__name="ray", engine__workers=3), tmp_path / "ray")


def test_cores_that_others_keep_are_told_after_a_while(tmp_path, monkeypatch):
    from fedkin.engine.transports import ray as transport

    monkeypatch.setattr(transport, "PATIENCE", 0.5)
    keeper = ray.remote(num_cpus=1)(transport.Actor).remote()
    ray.get(keeper.call.remote("end"))
    told = r"1 of the Ray cluster's 2 cores are free, engine.workers is 2: .* --workers 1\)"
    with pytest.raises(FedkinError, match=told):
        run(small("fedavg", **ENGINE), tmp_path / "ray")
    ray.kill(keeper)


def test_actors_leave_no_data_behind(tmp_path, monkeypatch):
    from fedkin.engine.transports.ray import Actors

    ends, homes = Actors.close, []

    def looking(self):
        homes.extend(self._everyone("home"))
        ends(self)

    monkeypatch.setattr(Actors, "close", looking)
    run(small("ditto", **ENGINE), tmp_path / "ray")
    assert len(homes) == 2
    assert not [files for _, files in homes if "population" in files]
    assert not [folder for folder, _ in homes if Path(folder).exists()]
