"""An experiment before its first round: its specification, its folder, what is refused."""

import shutil
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError, Halted
from fedkin.experiment.run import experiment, new_folder, run
from fedkin.methods import make
from fedkin.runs.database import read_only
from tests.engine.small import content, small


def test_keywords_go_into_their_sections_and_leave_the_dict_alone() -> None:
    given = {"run": {"rounds": 9, "seed": 2}, "method": {"name": "ditto"}}
    spec = experiment(given, run__rounds=5, method__lam=0.7)
    assert (spec.run.rounds, spec.run.seed) == (5, 2)
    assert spec.method.options == {"lam": 0.7}
    assert given == {"run": {"rounds": 9, "seed": 2}, "method": {"name": "ditto"}}
    with pytest.raises(FedkinError, match=r"'run\.roundz': did you mean 'rounds'"):
        experiment(run__roundz=5)


def test_a_run_without_a_folder_gets_the_next_one(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = small("ditto", run__seed=7, data__name="sets/a.csv")
    assert new_folder(spec, "ditto", None) == Path("runs/ditto-a-seed7-1")
    assert new_folder(spec, "ditto", None) == Path("runs/ditto-a-seed7-2")
    assert new_folder(small(run__out="there"), "fedavg", None) == Path("there")
    assert new_folder(small(run__out="there"), "fedavg", "here") == Path("here")
    assert Path("here").is_dir()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("run.lock", "given.csv", "run.db.part"):  # left by one that was killed
        (kept / name).touch()
    assert new_folder(small(), "fedavg", kept) == kept
    (kept / "run.db").touch()
    spaced = tmp_path / "a [b]"
    shutil.copytree(kept, spaced)
    with pytest.raises(FedkinError, match=r"fedkin resume '.*a \[b\]'$"):
        new_folder(small(), "fedavg", spaced)
    with pytest.raises(FedkinError, match=r"exists and is not empty: .*: fedkin resume .*kept$"):
        new_folder(small(), "fedavg", kept)
    with pytest.raises(FedkinError, match=r"run\.db is a file: run\.out names a folder"):
        new_folder(small(), "fedavg", kept / "run.db")
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(FedkinError, match=r"link is a link to gone, which is not there: choose"):
        new_folder(small(), "fedavg", tmp_path / "link")
    with pytest.raises(FedkinError, match=r"run\.db/x cannot be made: Not a directory"):
        new_folder(small(), "fedavg", kept / "run.db" / "x")


@pytest.mark.parametrize(("out", "own"), [("", None), (" ", "runs/one"), (None, "")])
def test_a_folder_without_a_name_is_refused(out, own, tmp_path, monkeypatch) -> None:
    """Not taken for the folder that one stands in, nor for none."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FedkinError, match=r"^run\.out is empty: name a folder, or leave it out"):
        new_folder(small("fedavg", run__out=own), "fedavg", out)
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_is_told_before_a_folder_is_made(tmp_path) -> None:
    with pytest.raises(FedkinError, match="l2sgd needs every client in every round"):
        run(experiment(content("l2sgd", run__participation=0.5)), tmp_path / "a")
    method = make("fedavg", {}, {"lr": 0.1})
    with pytest.raises(FedkinError, match="a method that is given as a value runs with engine inp"):
        run(small(engine__name="processes"), tmp_path / "a", method=method)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_writes_is_left_alone(tmp_path) -> None:
    from fedkin.runs import checkpoint

    (tmp_path / "a").mkdir()
    with checkpoint.alone(tmp_path / "a"), pytest.raises(Halted, match="is being written by anoth"):
        run(small(), tmp_path / "a")


def test_a_run_that_began_while_this_one_was_prepared_is_kept(tmp_path, monkeypatch) -> None:
    from fedkin.runs import checkpoint

    folder, alone = tmp_path / "a", checkpoint.alone

    def late(run_folder: Path):
        monkeypatch.setattr(checkpoint, "alone", alone)
        run(small(run__seed=5), run_folder)  # another process's, which is done by now
        return alone(run_folder)

    monkeypatch.setattr(checkpoint, "alone", late)
    with pytest.raises(FedkinError, match="a exists and is not empty: choose another"):
        run(small(run__seed=6), folder)
    with read_only(folder) as database:
        assert database.facts()["seed"] == 5
    assert "seed = 5" in (folder / "experiment.toml").read_text()


def test_two_runs_that_begin_at_once_have_a_folder_each(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = new_folder(small(), "ditto", None)
    monkeypatch.setattr(Path, "exists", lambda path: False)  # the other looked before it was made
    assert new_folder(small(), "ditto", None) != first
