"""fedkin sweep on a real Optuna study in SQLite."""

import json
from pathlib import Path

import pytest

from fedkin.sweep import SPACES, space_of
from tests.cli.command import fedkin

pytest.importorskip("optuna")
QUICK = [f"--set={s}" for s in ("engine.name=inprocess", "run.rounds=2", "run.clients=4", "model=mlr", "method=fedavg")]


def test_a_grid_is_done_once_and_the_best_is_by_validation(tmp_path: Path) -> None:
    asked = ["sweep", *QUICK, "--space", "train.lr=0.0001, 0.3", "--out", str(tmp_path / "s"), "--json"]
    found = json.loads(fedkin(*asked, "--trials", "1").stdout)
    assert len(found["trials"]) == 1
    found = json.loads(fedkin(*asked).stdout)  # goes on
    assert {row["train.lr"] for row in found["trials"]} == {0.0001, 0.3}
    assert found["best"]["train.lr"] == 0.3
    runs = sorted(path.name for path in (tmp_path / "s").iterdir() if path.is_dir())
    assert len(runs) == 2
    again = json.loads(fedkin(*asked).stdout)
    assert again == found
    wrong = fedkin(*asked[:-1], "--set", "train.batch_size=7")
    assert "another experiment" in wrong.output


def test_tpe_samples_ranges(tmp_path: Path) -> None:
    asked = ["sweep", *QUICK, "--space", "train.lr=log 0.001 .. 0.3", "--sampler", "tpe", "--trials", "2"]
    found = json.loads(fedkin(*asked, "--out", str(tmp_path / "s"), "--json").stdout)
    assert all(0.001 <= row["train.lr"] <= 0.3 for row in found["trials"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--space", "train.rate=1"], "train.rate"),
        (["--space", "rats"], "did you mean 'rates'"),
        (["--space", "run.rounds=1, 2"], "different data or budgets"),
        (["--space", "train.lr=0.1 .. 0.2"], "a grid needs values"),
        (["--sampler", "tpe", "--space", "train.lr=0.5 .. 0.1"], "the first number must be the smaller one"),
        (["--sampler", "tpe", "--space", "train.lr=log 0 .. 0.1"], "with log above 0"),
        ([], "nothing to search"),
    ],
)
def test_mistakes_are_told_before_training(asked: list[str], said: str, tmp_path: Path) -> None:
    result = fedkin("sweep", *QUICK, *asked, "--out", str(tmp_path / "s"))
    assert result.exit_code == 2
    assert said in result.output


def test_the_papers_grids_are_there() -> None:
    assert len(space_of(["cgpfl"])["method.lam"]) == 11
    assert set(SPACES) >= {"comet", "ppfl", "cgpfl"}
