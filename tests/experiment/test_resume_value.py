"""A run whose method was given as a Python value goes on with that value only."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Part, declared
from fedkin.core.method import Method
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.methods.fedavg import fedavg
from fedkin.runs.record import Record
from fedkin.setup.opened import load
from tests.engine.small import outcome, small


@declared
def halved(*, lr: float, mix: Part = 0.5) -> Method:
    """FedAvg of a part of the learning rate, under the name of another method."""
    return fedavg(lr=lr * mix)._replace(name="ditto")


def stop(record: Record) -> None:
    """After the first round."""
    if record.round:
        raise Interrupted("stopped")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """The folder of such a run."""
    with pytest.raises(Interrupted):
        run(small("ditto"), tmp_path / "run", method=halved(lr=0.1), progress=stop)
    return tmp_path / "run"


def test_a_method_with_its_name_does_not_go_on(stopped: Path, tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match=r"from Python, fedkin\.resume\('.*run', method=THE"):
        resume(stopped)
    with pytest.raises(FedkinError, match=r"from Python, fedkin\.Result\('.*run', method=THE"):
        load(stopped)
    assert load(stopped, method=halved(lr=0.1)).at.trained == 1
    whole = run(small("ditto"), tmp_path / "whole", method=halved(lr=0.1))
    assert outcome(resume(stopped, method=halved(lr=0.1))) == outcome(whole)
