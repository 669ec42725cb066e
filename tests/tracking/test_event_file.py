"""TensorBoard's own reader takes what is written for it."""

from pathlib import Path

import pytest

from fedkin.tracking.event_file import event_file


def test_tensorboard_reads_every_event(tmp_path: Path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    file = tmp_path / "events.out.tfevents.1"
    file.write_bytes(event_file([("a/b", 0, 0.5, 9.5), ("a/b", 7, -2.0, 11.25)], "    k = ä"))
    first, *points, text = loader.EventFileLoader(str(file)).Load()
    assert first.file_version == "brain.Event:2"
    assert [(one.step, one.summary.value[0].tag) for one in points] == [(0, "a/b"), (7, "a/b")]
    assert [one.wall_time for one in points] == [9.5, 11.25]
    assert [list(one.summary.value[0].tensor.float_val) for one in points] == [[0.5], [-2.0]]
    (told,) = text.summary.value
    assert told.tag == "settings/text_summary"
    assert told.tensor.string_val[0].decode() == "    k = ä"
