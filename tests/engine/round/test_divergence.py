"""Training that diverged is told as such."""

from dataclasses import replace

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.local_backend import hosts
from fedkin.experiment.run import run
from fedkin.experiment.training import Engine
from fedkin.runs.database import read_only
from fedkin.setup.build import assemble, assemble_with_population
from tests.engine.small import small


def test_local_training_that_diverged_is_told(tmp_path):
    """It sends no message that could be refused: what tells is that no client's model has a finite
    loss.
    """
    told = r"training diverged \(no client's model has a finite loss\): lower train\.lr"
    with pytest.raises(FedkinError, match=told):
        run(small("local", train__lr=1e300), tmp_path / "run")


def test_every_step_that_may_have_been_too_large_is_named(tmp_path):
    with pytest.raises(
        FedkinError, match=r"diverged \(.*\): lower train\.lr or method\.personal_lr$"
    ):
        run(small("pfedme", method__personal_lr=1e300), tmp_path / "run")


def one_is_scored(spec, method):
    """The run's objects, where only client 0 has samples that models are scored on."""
    whole = assemble(spec, method).population
    val, test = ((rows[0], *(one[:0] for one in rows[1:])) for rows in (whole.val, whole.test))
    return assemble_with_population(spec, method, replace(whole, val=val, test=test))


def test_clients_without_samples_to_score_have_not_diverged(tmp_path):
    """Nodes may have training samples alone: a round of them has no loss, and goes on."""
    spec = small("fedavg", run__evaluate="participants", run__participation=0.1, run__rounds=6)
    folder = run(spec, tmp_path / "run", engine=Engine(one_is_scored, hosts))
    with read_only(folder) as database:
        assert database.facts()["finished"]
        told = dict(database.rows("SELECT round, max(loss) FROM metrics GROUP BY round"))
    assert None in told.values(), "no round was of clients without such samples"


def test_whose_samples_are_scored_diverges_beside_others(tmp_path):
    spec = small("local", train__lr=1e300)
    with pytest.raises(FedkinError, match="no client's model has a finite loss"):
        run(spec, tmp_path / "run", engine=Engine(one_is_scored, hosts))
