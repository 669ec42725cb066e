"""Training that diverged is told as such."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
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
