"""PersFL's choices."""

from types import SimpleNamespace

import numpy as np

from fedkin.report.charts.teachers import IMITATION, TEACHER, TEMPERATURE, teacher_figures
from fedkin.report.matrix import Matrix

RUN = SimpleNamespace(name=lambda k: f"s{k}")


def told(*rows: list[float]) -> Matrix:
    return Matrix(list(range(len(rows))), [7, 2, 5], np.array(rows))


def test_the_last_choice_of_each_is_drawn() -> None:
    teacher = told([1, 4, np.nan], [3, np.nan, np.nan])
    (found,) = teacher_figures(RUN, {TEACHER: teacher})  # type: ignore[arg-type]
    rows = found.spec["datasets"]["rows"]
    assert rows == [{"client": "s7", "teacher": 3}, {"client": "s2", "teacher": 4}]


def test_equal_choices_are_seen_apart_and_their_numbers_stay() -> None:
    numbers = {IMITATION: told([0.5, 0.5, 0.5]), TEMPERATURE: told([3.0, 3.0, 9.0])}
    (found,) = teacher_figures(RUN, numbers)  # type: ignore[arg-type]
    rows = found.spec["datasets"]["rows"]
    assert [(row["temperature"], row["imitation"]) for row in rows] == [
        (3.0, 0.5),
        (3.0, 0.5),
        (9.0, 0.5),
    ]
    assert len({(row["T"], row["lam"]) for row in rows}) == 3
    assert teacher_figures(RUN, {IMITATION: numbers[IMITATION]}) == []  # type: ignore[arg-type]
