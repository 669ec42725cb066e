"""The records as DataFrames."""

from pathlib import Path

import numpy as np

from fedkin.report import frames
from tests.report.records_for_tests import write


def test_metrics_have_names_and_samples(tmp_path: Path) -> None:
    table = frames.metrics(write(tmp_path))
    assert len(table) == 3 * 3 * 2 * 2  # rounds × clients × views × splits
    final = table[
        (table["round"] == 3) & (table["view"] == "personal") & (table["split"] == "test")
    ]
    assert list(final["name"]) == ["a", "b", "c"]
    assert np.average(final["accuracy"], weights=final["samples"]) == np.float64(0.68)


def test_rounds_say_who_was_missing(tmp_path: Path) -> None:
    table = frames.rounds(write(tmp_path))
    assert list(table["phase"]) == ["setup", "round", "round", "finish"]
    assert list(table["missing"]) == [0, 0, 1, 0]
    assert list(table["participants"]) == [3, 3, 3, 3]
    assert table["seconds_total"].sum() == 14


def test_communication_adds_up_to_the_total(tmp_path: Path) -> None:
    table = frames.communication(write(tmp_path))
    assert table[table["phase"] == "round"]["bytes"].sum() == 3040


def test_notes_and_clients(tmp_path: Path) -> None:
    folder = write(tmp_path)
    notes = frames.notes(folder)
    assert notes.iloc[-1]["value"] == [0.2, 0.8]
    assert set(notes["client_name"]) == {"a", "b", "c", "federation"}
    clients = frames.clients(folder)
    assert list(clients["histogram"]) == [[15, 5], [0, 40], [30, 30]]


def test_runs_without_rows_have_their_columns(tmp_path: Path) -> None:
    folder = write(tmp_path, finished=False, until=0)
    assert "accuracy" in frames.metrics(folder)
    assert len(frames.notes(folder)) == 0
