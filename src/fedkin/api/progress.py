"""A run's progress, as a caller asked for it: shown, told to a function, or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from fedkin.experiment.heading import head
from fedkin.experiment.notebook import Bar, in_notebook
from fedkin.experiment.progress import Tally, display
from fedkin.experiment.terminal import console
from fedkin.experiment.training import Progress
from fedkin.runs.spec import Spec


@contextmanager
def displayed(
    spec: Spec, progress: bool | Progress | None, rounds: int = 0, sent: int = 0
) -> Iterator[Progress | None]:
    """What a run calls with the record of each round.

    Args:
        spec: The experiment.
        progress: True: it is shown as the command line does, in notebooks and terminals; a function
            of the caller's; None or False: nothing.
        rounds: Rounds before a resume.
        sent: Bytes before a resume.

    Yields:
        A function, or None; what is shown is shown for as long as the block lasts.
    """
    if progress is not True:
        yield progress or None
        return
    tally = Tally(spec, head(spec), rounds, sent)
    with Bar(tally) if in_notebook() else display(tally, console()) as shown:
        yield shown.update
