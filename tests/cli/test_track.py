"""``fedkin track``: where a run's records are copied to."""

import pytest

from tests.awkward import record
from tests.cli.command import fedkin, told


@pytest.fixture
def asked(monkeypatch):
    found = []
    for name in ("to_mlflow", "to_tensorboard", "to_wandb"):

        def copy(folder, place, name=name):
            found.append((name, folder, place))
            return f"{name} {place}"

        module = "weights_and_biases" if name == "to_wandb" else "track"
        monkeypatch.setattr(f"fedkin.tracking.{module}.{name}", copy)
    return found


def test_nowhere_is_a_mistake(tmp_path, asked) -> None:
    sentence = told("track", record(tmp_path / "run"))
    assert sentence == "say where to: --tensorboard DIR, --mlflow URI or --wandb PROJECT"
    assert asked == []


def test_each_place_gets_its_copy(tmp_path, asked) -> None:
    folder, logs = record(tmp_path / "run"), tmp_path / "logs"
    result = fedkin("track", folder, "--mlflow", "sqlite:///a.db", "--tensorboard", logs)
    assert asked == [("to_tensorboard", folder, logs), ("to_mlflow", folder, "sqlite:///a.db")]
    assert result.stdout.splitlines() == [f"to_tensorboard {logs}", "to_mlflow sqlite:///a.db"]
    assert fedkin("track", folder, "--mlflow", "x").stdout == "to_mlflow x\n"
    assert fedkin("track", folder, "--wandb", "x").stdout == "to_wandb x\n"
