"""benchmarks/adapted_on_test.py: steps on test samples by hand, and the run's own number."""

import math
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
    x, y = torch.tensor([[2.0], [4.0]]), torch.tensor([0, 0])
    adapted(module, x, y, [0.1], batch=3)  # a batch of all, each once: the mean of 1 and 2
    assert torch.allclose(module.weight, torch.tensor([[0.15], [-0.15]]))
    module.weight.data.zero_()
    first = int(torch.randperm(2, generator=torch.Generator().manual_seed(0))[0])
    adapted(module, x, y, [0.1, 0.2], batch=1)
    one, other = x[first].item(), x[1 - first].item()
    w = 0.1 * one / 2
    w += 0.2 * other / (1 + math.exp(2 * w * other))  # the chance of class 1 there
    assert torch.allclose(module.weight, torch.tensor([[w], [-w]]))


def test_ours_is_the_runs_and_theirs_takes_the_inner_rate_then_beta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = Experiment(
        "per_fedavg", rounds=1, engine="inprocess", **{"method.inner_lr": 0.0, "train.lr": 0.3}
    )
    result = experiment.run(tmp_path / "run")
    taken: list[list[float]] = []
    monkeypatch.setattr(
        "benchmarks.adapted_on_test.adapted",
        lambda module, x, y, rates, batch: taken.append(list(rates)),
    )
    ours, unmoved = scores(tmp_path / "run")
    recorded = result.summary["accuracy"]
    assert ours == pytest.approx(100 * recorded["personal"]["final"]["mean"])
    assert unmoved == pytest.approx(100 * recorded["global"]["final"]["mean"])
    assert taken == [[0.0, 0.3]] * result.summary["clients"]
