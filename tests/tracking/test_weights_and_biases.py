"""Weights & Biases, in a folder of its own: nothing leaves the machine."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedkin.tracking.weights_and_biases import to_wandb
from tests.cli.command import fedkin, told
from tests.report.records_for_tests import write


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for its runs, and no network."""
    wandb = pytest.importorskip("wandb")
    for name in ("WANDB_API_KEY", "WANDB_PROJECT", "WANDB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    settings = {"MODE": "offline", "DIR": tmp_path, "BASE_URL": "http://127.0.0.1:9"}
    for name, value in {**settings, "ERROR_REPORTING": "false"}.items():
        monkeypatch.setenv(f"WANDB_{name}", str(value))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    yield tmp_path
    wandb.teardown()  # it reads the environment once for a process


def records(folder: str) -> list[Any]:
    """What ``wandb sync`` would send."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    (file,) = Path(folder).glob("*.wandb")
    store, found = DataStore(), []
    store.open_for_scan(str(file))
    while (data := store.scan_data()) is not None:
        found.append(Record.FromString(data))
    return found


@pytest.mark.rotating
def test_its_file_has_the_numbers_and_the_settings(offline: Path) -> None:
    run = write(offline / "run")
    result = fedkin("track", run, "--wandb", "federated")
    assert result.exit_code == 0, result.output
    assert Path(result.stdout.strip()).parent == offline / "wandb"
    kept = records(result.stdout.strip())
    (begun,) = [one.run for one in kept if one.WhichOneof("record_type") == "run"][:1]
    assert (begun.project, begun.display_name, list(begun.tags)) == (
        "federated",
        "run",
        ["finished"],
    )
    config = {one.key: json.loads(one.value_json) for one in begun.config.update}
    assert config["split.alpha"] == 0.3
    rows = [
        {key.key or key.nested_key[0]: json.loads(key.value_json) for key in one.history.item}
        for one in kept
        if one.WhichOneof("record_type") == "history"
    ]
    accuracy = [
        (row["_step"], round(row["test_accuracy/personal"], 5))
        for row in rows
        if "test_accuracy/personal" in row
    ]
    assert accuracy == [(1, 0.8), (2, 0.7), (3, 0.6)]
    assert [row["bytes"] for row in rows if "bytes" in row] == [1520, 1520]
    again = fedkin("track", run, "--wandb", "federated").stdout
    assert again != result.stdout  # each call makes a run, as with MLflow


def test_what_it_refuses_is_told_in_a_sentence(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write(offline / "run")
    assert "cannot contain characters" in told("track", run, "--wandb", "a/b")
    assert "keeps nothing of project ''" in told("track", run, "--wandb", "")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert "WANDB_MODE=disabled: name" in told("track", run, "--wandb", "federated")
    assert not list(offline.glob("wandb/*run-*"))
    pytest.importorskip("wandb").teardown()
    monkeypatch.setenv("WANDB_MODE", "online")
    sentence = told("track", run, "--wandb", "federated")
    assert sentence.startswith(
        "Weights & Biases, project 'federated': nobody is logged in: wandb login, or WANDB_MODE="
    )


def test_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(Exception, match=r"needs the extra wandb: .*'\.\[wandb\]'$"):
        to_wandb(write(tmp_path / "run"), "federated")
