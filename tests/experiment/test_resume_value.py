"""A run whose method was given as a Python value goes on with that value only."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Part, declared
from fedkin.core.method import Method
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.methods.fedavg import fedavg
from fedkin.runs.database import continued_by, read_only
from fedkin.runs.record import Record
from fedkin.setup.loaded_run import load
from tests.cli.command import SMALL, told, without_record
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
    with pytest.raises(FedkinError, match=r", or: fedkin\.resume\('.*run', method=THE METHOD\)$"):
        run(small("ditto"), stopped, method=halved(lr=0.1))  # no command goes on with a value
    assert load(stopped, method=halved(lr=0.1)).at.trained == 1
    whole = run(small("ditto"), tmp_path / "whole", method=halved(lr=0.1))
    assert outcome(resume(stopped, method=halved(lr=0.1))) == outcome(whole)


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (halved(lr=0.1, mix=0.7), "was made with mix = 0.5, not 0.7"),
        (halved(lr=0.2), "was made with lr = 0.1, not 0.2"),
        (halved(lr=0.1)._replace(name="other"), "is called 'ditto', not 'other'"),
        (fedavg(lr=0.05)._replace(name="ditto"), "was made with lr = 0.1, not 0.05"),
        (
            fedavg(lr=0.1)._replace(name="ditto", hyper=halved(lr=0.1).hyper),
            "holds lr = 0.05, not 0.1",
        ),
    ],
)
def test_what_it_was_made_with_is_what_it_goes_on_with(
    method: Method, what: str, stopped: Path
) -> None:
    said = f"the method that this run began with .*{what}: give that one, or start another"
    with pytest.raises(FedkinError, match=said):
        resume(stopped, method=method)
    with pytest.raises(FedkinError, match=said):
        load(stopped, method=method)


def test_other_functions_are_told(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("fedkin.experiment.resume.note", said.append)
    with pytest.raises(Interrupted):
        resume(stopped, method=halved(lr=0.1), progress=stop)
    assert said == []
    own = halved(lr=0.1)._replace(client_metrics=lambda state: {})
    with pytest.raises(Interrupted):
        resume(stopped, method=own, progress=stop)
    (note,) = said
    assert note.startswith(f"{stopped}: the functions of ditto are not in the files that")


def test_what_continues_it_is_said_as_python_takes_it(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(record: Record) -> None:
        raise KeyboardInterrupt

    call = rf"fedkin\.resume\('{stopped}', method=THE METHOD\)"
    with pytest.raises(Interrupted, match=f"committed up to round 2: {call}"):
        resume(stopped, method=halved(lr=0.1), progress=key)
    monkeypatch.setattr("fedkin.experiment.training.interrupts", lambda: nullcontext(lambda: True))
    with pytest.raises(Interrupted, match=f"after round 3; continue with: {call}"):
        resume(stopped, method=halved(lr=0.1))


def test_a_value_whose_run_has_no_record_yet_is_asked_for(tmp_path: Path) -> None:
    """Killed between its first two files: the name in [method] may be another method's."""
    mine = fedavg(lr=0.05)._replace(name="ditto")
    folder = run(small("fedavg"), tmp_path / "run", method=mine)
    with read_only(folder) as record:
        before = record.facts()["fingerprint"]
    without_record(folder)
    again = f"fedkin.resume({str(folder)!r}, method=THE METHOD)"
    assert told("resume", folder) == (
        f"{folder} ran a Method that was given as a Python value, which no name stands for: from "
        f"Python, {again}"
    )
    assert told("run", *SMALL, "--out", folder).endswith(
        f"choose another --out (run.out), or: {again}"
    )
    resume(folder, method=mine)
    with read_only(folder) as record:
        assert record.facts()["fingerprint"] == before
    without_record(folder)
    (folder / "experiment.toml").write_text("[record")  # whatever it says
    assert continued_by(folder) == f"fedkin resume {folder}"
