"""Rounds of a run within something longer."""

from types import SimpleNamespace

from fedkin.experiment.rounds_reporter import rounds_reporter
from fedkin.runtime.progress import progress_to


def told(numbers: list[int], rounds: int) -> list[tuple[str, int, int]]:
    said: list[tuple[str, int, int]] = []
    seen: list[int] = []
    progress = rounds_reporter("a run", rounds, lambda record: seen.append(record.round))
    with progress_to(lambda *line: said.append(line)):
        for number in numbers:
            progress(SimpleNamespace(round=number))
    assert seen == numbers
    return said


def test_every_round_is_told_and_the_finish_is_none() -> None:
    assert told([0, 1, 2, 3], 2) == [("a run", done, 2) for done in (0, 0, 1, 2, 2)]


def test_a_resumed_run_counts_from_where_it_was() -> None:
    assert told([8, 9, 10], 10) == [("a run", done, 3) for done in (0, 1, 2, 3)]
