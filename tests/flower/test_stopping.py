"""Word from a terminal that what is being done is to end."""

import pytest

from fedkin.experiment.training import Interrupted
from fedkin.flower import stopping
from fedkin.flower.stopping import join_again, run_again, stop_if_asked


def test_what_is_to_end_ends_once(tmp_path):
    stop = tmp_path / "stop"
    stop_if_asked(None, "why")
    stop_if_asked(stop, "why")
    stop.touch()
    with pytest.raises(Interrupted, match=r"^why$"):
        stop_if_asked(stop, "why")
    stop_if_asked(stop, "why")


def test_there_is_nothing_to_resume_before_a_run_has_begun(tmp_path, monkeypatch):
    out = tmp_path / "runs" / "3"
    assert run_again("my site", out) == "begin again: fedkin deploy run 'my site'"
    monkeypatch.setattr(stopping, "has_begun", lambda folder: folder == out)
    assert run_again("site", out) == "continue with: fedkin deploy run site --resume"


def test_a_join_is_asked_for_again_as_it_was(tmp_path):
    said = "late has not joined; ask again: fedkin deploy join site late --run 3"
    assert join_again("site", tmp_path / "3", "late", "") == said
    assert join_again("site", tmp_path / "3", "late", "5") == f"{said} --rounds 5"
