"""Tracking, in real local stores."""

import errno
import os
import re
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.tracking.track import to_tensorboard
from tests.cli.command import fedkin, told
from tests.report.records_for_tests import write


def test_tensorboard_has_the_numbers(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    result = fedkin("track", str(write(tmp_path / "run")), "--tensorboard", str(tmp_path / "logs"))
    assert result.exit_code == 0, result.output
    found = events.EventAccumulator(str(tmp_path / "logs" / "run"))
    found.Reload()
    told = [
        (event.step, round(event.value, 5)) for event in found.Scalars("test_accuracy/personal")
    ]
    assert told == [(1, 0.8), (2, 0.7), (3, 0.6)]
    assert [event.value for event in found.Scalars("bytes")] == [1520, 1520]


def test_tensorboard_has_every_point_once(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run, logs = write(tmp_path / "a" / "run"), tmp_path / "logs"
    for _ in range(2):
        assert fedkin("track", str(run), "--tensorboard", str(logs)).exit_code == 0
    assert len(list((logs / "run").iterdir())) == 1
    found = events.EventAccumulator(str(logs / "run"))
    found.Reload()
    assert [event.step for event in found.Scalars("test_accuracy/personal")] == [1, 2, 3]
    other = write(tmp_path / "b" / "run")
    assert "holds event files that are not of this run (" in told(
        "track", other, "--tensorboard", logs
    )
    assert len(list((logs / "run").iterdir())) == 1


@pytest.mark.rotating
def test_mlflow_has_the_numbers(tmp_path: Path) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    result = fedkin("track", str(write(tmp_path / "run")), "--mlflow", uri)
    assert result.exit_code == 0, result.output
    client = tracking.MlflowClient(tracking_uri=uri)
    run = client.get_run(result.stdout.strip())
    assert run.data.params["split.alpha"] == "0.3"
    assert run.data.tags["fedkin.state"] == "finished"
    told = client.get_metric_history(run.info.run_id, "test_accuracy/personal")
    assert [(one.step, round(one.value, 5)) for one in told] == [(1, 0.8), (2, 0.7), (3, 0.6)]


def test_a_store_that_is_none_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    run, text = write(tmp_path / "run"), tmp_path / "text"
    text.write_text("no database")
    before = (run / "run.db").read_bytes()
    for uri, why in (
        (f"sqlite:///{text}", "file is not a database"),
        (f"sqlite:///{text}/x.db", f"{text}: File exists"),
        ("http://127.0.0.1:9", "no server answers there: Connection refused$"),
        ("nosuch+kind://x", "nosuch"),
        (str(tmp_path / "folder"), "that is a folder, and .* such as sqlite:///mlflow.db, or the "),
        (f"file://{tmp_path}/folder", "that is a folder, and this MLflow keeps no runs in one"),
        (f"sqlite:///{run}/run.db", "a file of .*run itself"),
        ("sqlite:///", "keeps nothing"),
        ("sqlite:///:memory:", "keeps nothing"),
    ):
        said = told("track", run, "--mlflow", uri)
        assert said.startswith(f"MLflow at {uri}") or "keeps nothing" in said
        assert re.search(why, said), said
    assert (text.read_text(), (run / "run.db").read_bytes()) == ("no database", before)
    for where in (text, text / "below"):
        assert re.fullmatch(
            f"{where}.* cannot be written: .+", told("track", run, "--tensorboard", where)
        )


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    run, logs = write(tmp_path / "run"), tmp_path / "logs"
    to_tensorboard(run, logs)
    (before,) = (logs / "run").iterdir()

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FedkinError, match="logs/run cannot be written: No space left on device"):
        to_tensorboard(run, logs)
    assert list((logs / "run").iterdir()) == [before]
    assert capfd.readouterr().err == ""  # of no thread of TensorBoard's


def test_what_the_writer_of_events_cannot_do_is_no_damage_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summaries = pytest.importorskip("torch.utils.tensorboard.summary")

    def refuses(*given: object) -> None:
        raise ValueError("no such point")

    monkeypatch.setattr(summaries, "scalar", refuses)
    with pytest.raises(ValueError, match=r"^no such point$"):
        to_tensorboard(write(tmp_path / "run"), tmp_path / "logs")


def test_nowhere_to_go_is_told(tmp_path: Path) -> None:
    assert "--tensorboard DIR" in fedkin("track", str(write(tmp_path / "run"))).output
