"""A training run under a live display, and what came out of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fedkin.experiment.terminal import console, warn

if TYPE_CHECKING:
    from fedkin.runs.record import Record
    from fedkin.runs.spec import Spec


def train(
    spec: "Spec",
    work: Callable[[Callable[["Record"], None]], Path],
    before: tuple[int, int] | None = (0, 0),
    new: bool = True,
) -> None:
    """Tell leaks of a new run's data, do the work under a display, then say what came out and where
    it is.

    ``before``: rounds done and bytes sent before a resume; None where nothing is left to do.
    """
    from fedkin.cli.closing import closing
    from fedkin.doctor.checked import leaks_of
    from fedkin.experiment.progress import Tally, display, head

    terminal = console()
    for sentence in leaks_of(spec) if new else []:
        warn(f"note: {sentence}; fedkin data check names all")
    if before is None:
        folder = work(lambda record: None)
    else:
        with display(Tally(spec, head(spec), *before), terminal) as shown:
            folder = work(shown.update)
    closing(folder, terminal)
