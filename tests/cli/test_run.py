"""``fedkin run``: what it finds, and what it says before it trains."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import fedkin


def test_a_paper_s_specification_is_found_without_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained: list[Any] = []
    monkeypatch.setattr("fedkin.cli.run.train", lambda spec, work: trained.append(spec))
    done = fedkin("run", "examples/papers/ppfl_synthetic.toml", "--rounds", "3")
    assert done.exit_code == 0, done.output
    assert (trained[0].method.name, trained[0].run.rounds) == ("ppfl", 3)
    assert fedkin("run", "examples/papers/none.toml").exit_code == 2


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("method", "told"),
    [("cgpfl:personal_lr=0.1", True), ("cgpfl:clusters=2", False), ("fedavg", False)],
)
def test_a_step_beyond_the_model_that_pulls_it_is_told(
    method: str, told: bool, tmp_path: Path
) -> None:
    small = ("--rounds", "1", "--engine", "inprocess", "--clients", "4", "--set", "train.steps=1")
    done = fedkin("run", "--method", method, *small, "--out", tmp_path / "run")
    assert ("personal_lr times lam is 1.2" in done.stderr) == told
