"""Progress of a run that is a part of something longer, such as a sweep."""

from fedkin.experiment.training import Progress
from fedkin.runs.record import Record
from fedkin.runtime.progress import report_progress


def rounds_reporter(run: str, rounds: int, then: Progress | None = None) -> Progress:
    """A progress function that reports the rounds of a run (``runtime.progress``).

    Args:
        run: In words, as "rounds of trial 3".
        rounds: Planned.
        then: Another progress function, called first.

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
            report_progress(run, 0, rounds - before[0])
        report_progress(run, min(record.round, rounds) - before[0], rounds - before[0])

    return progress
