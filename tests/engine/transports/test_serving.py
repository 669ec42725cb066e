"""A worker process whose coordinator is not there."""

import json
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import pytest

from fedkin.engine.transports.serving import KEY, serve


def never(setup: Any) -> Any:
    raise AssertionError("a worker without a coordinator builds nothing")


def test_a_worker_that_begins_when_its_run_has_ended_ends_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, left = tmp_path / "gone", tmp_path / "left"
    with Listener(str(left), authkey=b"k") as listener:
        listener._listener._unlink = None  # type: ignore[attr-defined] # its file stays
    for address in (gone, left):  # no socket; a socket to which nobody listens
        monkeypatch.setenv(KEY, "k")
        serve(json.dumps(str(address)), "0", never)
