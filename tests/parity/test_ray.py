"""Hosts as Ray actors give the bits of one process; what an actor's end leaves can be resumed."""

import pytest

pytest.importorskip("ray", reason="needs the extra ray")

import ray

from fedkin.core.errors import FedkinError
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from tests.engine.small import outcome, small

pytestmark = pytest.mark.slow
ENGINE = {"engine__name": "ray", "engine__workers": 2}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """One cluster for all tests here: starting one takes seconds."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("method", ["fedavg", "comet", "ppfl", "ditto", "persfl"])
def test_the_same_bits(method, tmp_path):
    assert outcome(run(small(method, **ENGINE), tmp_path / "ray")) == outcome(
        run(small(method), tmp_path / "plain")
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
            FedkinError, match=r"Ray actor 1 ended .*; what is committed can be resumed"
        ):
            run(small("ditto", **ENGINE), tmp_path / "ray")
    resume(tmp_path / "ray")
    assert outcome(tmp_path / "ray") == outcome(run(small("ditto"), tmp_path / "plain"))


def test_more_workers_than_cores_are_refused(tmp_path):
    with pytest.raises(FedkinError, match=r"the Ray cluster has 2 cores, engine.workers is 3"):
        run(small("fedavg", engine__name="ray", engine__workers=3), tmp_path / "ray")
