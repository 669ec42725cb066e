"""A trial that somebody else began sets nothing that is not searched, and leads nowhere."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.sweep.foreign import taken_over
from tests.cli.command import fedkin

optuna = pytest.importorskip("optuna")
SPACE: dict[str, Any] = {"train.lr": [0.1, 0.3], "train.steps": (2, 8, False)}
FITS = {"train.lr": 0.3, "train.steps": 4}


def test_a_trial_of_the_search_is_taken_over(tmp_path: Path) -> None:
    assert taken_over(tmp_path, SPACE, 0, FITS, "0000-lr=0.3") == tmp_path / "0000-lr=0.3"


@pytest.mark.parametrize(
    "values",
    [
        {**FITS, "model.name": "evil:Net"},
        {"train.lr": 0.3},
        {**FITS, "train.lr": 0.2},
        {**FITS, "train.lr": "0.3"},
        {**FITS, "train.steps": 9},
        {**FITS, "train.steps": True},
        {**FITS, "train.steps": "evil:Net"},
    ],
)
def test_a_trial_that_sets_anything_else_is_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    with pytest.raises(FedkinError, match="trial 1 sets what this search does not"):
        taken_over(tmp_path, SPACE, 0, values, "0000")


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", "..", ""])
def test_a_folder_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FedkinError):
        taken_over(tmp_path, SPACE, 0, FITS, name)


def study(folder: Path, params: dict[str, Any], name: str) -> str:
    folder.mkdir()
    only = optuna.distributions.CategoricalDistribution
    made = optuna.create_study(
        storage=f"sqlite:///{folder / 'study.db'}", study_name="sweep", direction="maximize"
    )
    made.add_trial(
        optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING,
            params=params,
            distributions={key: only([one]) for key, one in params.items()},
            user_attrs={"folder": name},
        )
    )
    done = fedkin("sweep", "--data", "digits", "--space", "train.lr=0.1", "--out", folder)
    assert done.exit_code == 2
    return done.output


def test_a_strangers_study_imports_nothing_and_writes_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evilmod.py").write_text("open('RAN', 'w')\nclass Net: pass\n")
    code = {"train.lr": 0.1, "model.name": "evilmod:Net"}
    assert "sets what this search does not" in study(tmp_path / "code", code, "0000")
    study(tmp_path / "path", {"train.lr": 0.1}, "../escaped")
    assert not (tmp_path / "RAN").exists()
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("name", [".locks", ".locks/study.lock"])
def test_a_lock_is_not_reached_through_a_link(name: str, tmp_path: Path) -> None:
    folder, victim = tmp_path / "sweep", tmp_path / "victim"
    (folder / name).parent.mkdir(parents=True)
    victim.mkdir() if name == ".locks" else victim.write_text("precious")
    (folder / name).symlink_to(victim)
    done = fedkin("sweep", "--data", "digits", "--space", "train.lr=0.1", "--out", folder)
    assert done.exit_code == 2
    assert "is a link" in " ".join(done.stderr.split())
    assert not any(victim.iterdir()) if victim.is_dir() else victim.read_text() == "precious"
