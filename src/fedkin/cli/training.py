"""A training run under a live display, and what came out of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fedkin.cli.terminal import console

if TYPE_CHECKING:
    from fedkin.runs.record import Record
    from fedkin.runs.spec import Spec


def train(
    spec: "Spec",
    work: Callable[[Callable[["Record"], None]], Path],
    before: tuple[int, int] | None = (0, 0),
) -> None:
    """Do the work under a display, then say what came out and where it is.

    ``before``: rounds done and bytes sent before a resume; None where nothing is left to do.
    """
    from fedkin.cli.closing import closing
    from fedkin.cli.progress import Tally, display, head

    terminal = console()
    if before is None:
        folder = work(lambda record: None)
    else:
        with display(Tally(spec, head(spec), *before), terminal) as shown:
            folder = work(shown.update)
    closing(folder, terminal)
