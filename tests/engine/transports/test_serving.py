"""A worker process whose coordinator is not there."""

import json
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import Halted
from fedkin.engine.store import StoreError
from fedkin.engine.transports.failures import error_from
from fedkin.engine.transports.serving import KEY, _call, serve


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


class Full:
    """A host whose disk is full."""

    partial_sums = None

    def do(self, *_: Any) -> Any:
        raise StoreError("the folder of states cannot be written: no space left")


def test_a_full_disk_is_told_as_work_that_could_not_go_on() -> None:
    told: list[dict[str, Any]] = []

    class Line:
        def tell(self, header: dict[str, Any], blobs: object = ()) -> None:
            told.append(header)

    asked = {"call": "do", "op": "local", "round": 1, "tasks": [], "own": 0}
    _call(Full(), Line(), None, asked, [])  # type: ignore[arg-type]
    (header,) = told
    assert isinstance(error_from(header), Halted)
