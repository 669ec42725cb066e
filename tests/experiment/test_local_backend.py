"""Worker processes start where they are asked for, or where the work is worth their start."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.core.system import posix
from fedkin.experiment import local_backend
from fedkin.experiment.local_backend import hosts
from fedkin.experiment.run import experiment, run
from fedkin.report.summary import summary
from fedkin.setup.build import assemble

SMALL = {"method__name": "fedavg", "run__clients": 3, "run__rounds": 1, "train__steps": 2}


@pytest.mark.parametrize(
    ("asked", "worth", "kind"),
    [
        ({}, local_backend.WORTH_WORKERS, "InProcess"),
        ({}, 1, "Processes"),
        ({"engine__name": "processes"}, local_backend.WORTH_WORKERS, "Processes"),
        ({"engine__workers": 1}, local_backend.WORTH_WORKERS, "Processes"),
        ({"engine__name": "inprocess"}, 1, "InProcess"),
    ],
)
def test_small_work_starts_no_workers(
    asked: dict[str, Any], worth: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_backend, "WORTH_WORKERS", worth)

    class Processes:
        """In place of real ones, which take seconds to start."""

        def __init__(self, *_: Any) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(local_backend, "Processes", Processes)
    with hosts(assemble(experiment(**{**SMALL, **asked})), tmp_path) as transport:
        assert type(transport).__name__ == kind


@pytest.mark.rotating
def test_the_record_says_processes_either_way_and_gives_the_same(tmp_path: Path) -> None:
    prints = []
    for name, asked in (("default", {}), ("asked", {"engine__name": "processes"})):
        run(experiment(**{**SMALL, **asked}), tmp_path / name)
        prints.append(summary(tmp_path / name)["fingerprint"])
    assert prints[0] == prints[1]


def test_there_are_as_many_workers_as_cores_that_this_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of a cluster has some of a machine's cores; the others are not its own."""
    started: list[int] = []

    class Processes:
        def __init__(self, module: str, setups: list[Any], placing: Any) -> None:
            started.append(len(setups))

        def close(self) -> None: ...

    monkeypatch.setattr(local_backend, "Processes", Processes)
    monkeypatch.setattr(posix.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(posix.os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    parts = assemble(experiment(**SMALL, engine__name="processes"))
    with hosts(parts, tmp_path):
        assert started == [2]
    monkeypatch.delattr(posix.os, "sched_getaffinity")
    with hosts(parts, tmp_path):
        assert started == [2, 3]  # no more than clients
