"""A training run under a live display, and what came out of it."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fedkin.experiment.terminal import console, note

if TYPE_CHECKING:
    from fedkin.runs.record import Record
    from fedkin.runs.spec import Spec

OnRecord = Callable[["Record"], None]  # what is called with every record


def train(
    spec: "Spec",
    work: Callable[[OnRecord], Path],
    before: tuple[int, int] | None = (0, 0),
    new: bool = True,
    divided: str | None = None,
) -> None:
    """Do the work under a display, then say what came out and where it is.

    Args:
        spec: The experiment.
        work: Takes what is called with each record; gives the run directory.
        before: (rounds done, bytes sent) before a resume; None where nothing is left to do.
        new: Whether the run begins, so that its data are checked for leaks.
        divided: How clients come by their data, where [split] does not say it.
    """
    from fedkin.cli.talk.closing import closing
    from fedkin.experiment.heading import head
    from fedkin.experiment.progress import Tally, display
    from fedkin.runtime.progress import progress_to
    from fedkin.setup.build import base_method

    terminal = console()
    if new:
        base_method(spec)  # a method that cannot be made is refused before anything is shown
    if before is None:
        folder = work(_unshown)
    else:
        tally = Tally(spec, head(spec, divided), *before)
        with display(tally, terminal) as shown, progress_to(shown.show_progress), _reading():
            folder = work(_telling_leaks(spec, shown.update) if new else shown.update)
    closing(folder, terminal)


def train_quietly(spec: "Spec", work: Callable[[OnRecord], Path], new: bool = True) -> None:
    """Do the work, then print the run as ``fedkin show --json`` does, with its folder and page.

    Args:
        spec: The experiment.
        work: Takes what is called with each record; gives the run directory.
        new: Whether the run begins, so that leaks of its data are told.
    """
    from fedkin.cli.talk.json_output import print_json
    from fedkin.report.page.report import write_report
    from fedkin.report.summary import summary

    with _reading(), contextlib.redirect_stdout(sys.stderr):  # what a method prints is no JSON
        folder = work(_telling_leaks(spec, _unshown) if new else _unshown)
    print_json({"folder": str(folder), "report": str(write_report(folder)), **summary(folder)})


def _unshown(record: "Record") -> None:
    """Where no display hears of a record."""


def _reading() -> contextlib.AbstractContextManager[None]:
    from fedkin.setup.population import shared_reading

    return shared_reading()


def _telling_leaks(spec: "Spec", update: OnRecord) -> OnRecord:
    """Before the first record: an experiment that is refused prints one line."""
    from fedkin.doctor.data_checks import data_notes

    warned: list[str] = []

    def tell(record: "Record") -> None:
        if not warned:
            warned.append("")
            for sentence in data_notes(spec):
                note(f"{sentence}; fedkin data check names all")
        update(record)

    return tell
