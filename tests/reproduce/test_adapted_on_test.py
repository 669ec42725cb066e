"""benchmarks/adapted_on_test.py: steps on test samples by hand, and the run's own number."""

from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.adapted_on_test import adapted, scores
from fedkin.api import Experiment


def test_a_step_of_each_rate_on_the_next_batch() -> None:
    """Cross-entropy of zero weights, two classes: the slope of row c is (1/2 − [c = y]) x."""
    module = nn.Linear(1, 2, bias=False)
    module.weight.data.zero_()
    x, y = torch.tensor([[2.0], [2.0]]), torch.tensor([0, 0])
    adapted(module, x, y, [0.1], batch=2)
    assert torch.allclose(module.weight, torch.tensor([[0.1], [-0.1]]))
    adapted(module, x, y, [0.0, 0.0], batch=1)  # no step
    assert torch.allclose(module.weight, torch.tensor([[0.1], [-0.1]]))


def test_without_a_step_it_is_the_global_model_and_ours_is_the_runs(tmp_path: Path) -> None:
    experiment = Experiment(
        "per_fedavg", rounds=1, clients=4, engine="inprocess", **{"method.inner_lr": 0.0}
    )
    result = experiment.run(tmp_path / "run")
    ours, theirs = scores(tmp_path / "run")
    recorded = result.summary["accuracy"]
    assert ours == pytest.approx(100 * recorded["personal"]["final"]["mean"])
    assert theirs == pytest.approx(100 * recorded["global"]["final"]["mean"])
