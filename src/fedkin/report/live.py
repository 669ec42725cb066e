"""The page that ``fedkin watch`` serves, made from the records as they are now."""

import shlex
import threading
from pathlib import Path
from typing import Any, Protocol

from fedkin.core.errors import FedkinError
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import page as comparison_page
from fedkin.report.page.content import page as run_page
from fedkin.report.records import opened
from fedkin.runs.directory import RECORD

RUNS = 40  # that one page compares
DEPLOYED = "runs"  # the folder of a deployment that holds its runs, by number


class Pages(Protocol):
    """What ``fedkin watch`` serves."""

    def page(self) -> tuple[str, bool]:
        """(the page, whether it can still change).

        Returns:
            (HTML, whether it can still change).

        Raises:
            FedkinError: There is none.
        """


class Live:
    """The page of a run, of the newest run of a deployment, or of all runs of a folder, as it is
    now; made again when a record has changed.

    Args:
        folder: A run directory, a folder of runs, or a deployment.

    Raises:
        FedkinError: There is no run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._kept: tuple[Any, tuple[str, bool]] | None = None
        self.runs()

    def runs(self) -> list[Path]:
        """The runs that the page is of.

        Returns:
            Run directories: all of a folder, by name, of which the page shows the first RUNS.

        Raises:
            FedkinError: There is none, or the folder cannot be read.
        """
        if (self.folder / RECORD).is_file():
            return [self.folder]
        folders = runs_in(self.folder, f"*/{RECORD}")
        deployed = runs_in(self.folder, f"{DEPLOYED}/*/{RECORD}")
        if not folders and deployed:
            return [max(deployed, key=_number)]
        if not folders:
            raise FedkinError(
                f"{self.folder} is not a run directory, and holds none: give the folder of a run, "
                "a sweep, a leaderboard or a deployment that has begun"
            )
        return folders

    def page(self) -> tuple[str, bool]:
        """The page as it is now.

        Returns:
            (HTML, whether it can still change).

        Raises:
            FedkinError: There is none, or a record is damaged.
        """
        with self._lock:
            runs = self.runs()
            state = [len(runs), *((str(run), written(run)) for run in runs[:RUNS])]
            if self._kept is None or self._kept[0] != state:
                self._kept = state, self._made(runs)
            return self._kept[1]

    def _made(self, runs: list[Path]) -> tuple[str, bool]:
        if len(runs) == 1:
            with opened(runs[0]) as run:
                return run_page(run), not run.finished or runs != [self.folder]
        compared = comparison(runs[:RUNS])
        if len(runs) > RUNS:
            left_out = (
                f"{len(runs) - RUNS} of {len(runs)} runs are not here, all but the first {RUNS} by "
                f"name: fedkin compare {shlex.quote(str(self.folder))}/* has all"
            )
            compared = compared._replace(hints=[left_out, *compared.hints])
        return comparison_page(compared), True


def _number(run: Path) -> tuple[int, str]:
    """Runs of a deployment in their order."""
    return (int(run.name) if run.name.isdecimal() else -1, run.name)


def runs_in(folder: Path, records: str) -> list[Path]:
    """Every run of a folder whose record fits, by its name.

    Args:
        folder: Where the runs are.
        records: A pattern of records below it.

    Returns:
        Run directories.

    Raises:
        FedkinError: The folder cannot be read.
    """
    try:
        return sorted(path.parent for path in folder.glob(records))
    except OSError as error:
        raise FedkinError(f"{folder} cannot be read: {error.strerror}") from None


def written(run: Path) -> tuple[float, ...]:
    """When a run's record was last written; SQLite writes beside it first.

    Args:
        run: A run directory.

    Returns:
        Seconds since 1970, 0 of a file that is not there.
    """
    times = []
    for name in (RECORD, f"{RECORD}-wal"):
        try:
            times.append((run / name).stat().st_mtime)
        except OSError:
            times.append(0.0)
    return tuple(times)
