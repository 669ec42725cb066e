"""PPFL's figure 11."""

from pathlib import Path

import numpy as np

from fedkin.reproduce import histograms
from fedkin.reproduce.histograms import recovery_figure


def test_a_row_a_client(monkeypatch) -> None:
    monkeypatch.setattr(histograms, "summary", lambda folder: {"of": folder})
    asked = []

    def errors(folder, found):
        asked.append((folder, found))
        return np.array([0.123456, 0.0, 0.9])

    monkeypatch.setattr(histograms, "recovery_errors", errors)
    drawn = recovery_figure(Path("run"))
    assert asked == [(Path("run"), {"of": Path("run")})]
    assert drawn.spec["datasets"]["rows"] == [{"error": 0.1235}, {"error": 0.0}, {"error": 0.9}]
    (bars,) = drawn.spec["layer"]
    assert bars["encoding"]["x"]["bin"] == {"extent": [0, 1], "step": 0.05}
    assert "3 clients; 0 is exact." in drawn.note


def test_without_a_truth_there_is_none(monkeypatch) -> None:
    monkeypatch.setattr(histograms, "summary", lambda folder: {})
    monkeypatch.setattr(histograms, "recovery_errors", lambda folder, found: None)
    assert recovery_figure(Path("run")) is None
