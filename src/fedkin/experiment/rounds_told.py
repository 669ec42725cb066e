"""The rounds of a run that is part of something longer, for whoever listens to what lasts."""

from fedkin.experiment.training import Progress
from fedkin.runs.record import Record
from fedkin.runtime.under_way import tell


def rounds_told(what: str, rounds: int, then: Progress | None = None) -> Progress:
    """A progress function that tells ``runtime.under_way`` how far a run is.

    Args:
        what: The run, as a line names it.
        rounds: Planned.
        then: Another one, called first.

    Returns:
        For ``run`` or ``resume``; of a resumed run, rounds of before are not counted, or the time
        left would be too short.
    """
    before: list[int] = []

    def progress(record: Record) -> None:
        if then is not None:
            then(record)
        if not before:
            before.append(max(record.round - 1, 0))
            tell(what, 0, rounds - before[0])
        tell(what, min(record.round, rounds) - before[0], rounds - before[0])

    return progress
