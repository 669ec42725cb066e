"""What came of a row of a preset."""

import pytest

from fedkin.reproduce.finished_rows import FinishedRun
from fedkin.reproduce.measures import CLIENT
from fedkin.reproduce.outcome import Outcome, joined, mean, merged, single
from fedkin.reproduce.pages import lines
from fedkin.reproduce.preset import preset

ROW = next(row for row in preset("ppfl-figure-8", "small").rows)
NAMES = [value.measure for value in ROW.values]


class Of(tuple):
    """A finished run: its seed, what it measured, its seconds."""

    seed = property(lambda self: self[0])
    numbers = property(lambda self: dict.fromkeys(NAMES, self[1]))
    seconds = property(lambda self: self[2])


def test_runs_of_other_machines_are_an_outcome() -> None:
    found = joined(ROW, [Of((4, 0.5, 10.0)), Of((2, None, 5.0))])
    assert (found.seeds, found.taken, found.seconds) == ([4, 2], (4, 2), 15.0)
    assert found.numbers == {name: [0.5] for name in NAMES}  # one had no such number
    assert found.folders == []
    assert joined(ROW, [Of((4, 0.5, None)), Of((2, 0.1, 5.0))]).seconds is None
    assert joined(ROW, []).numbers == {name: [] for name in NAMES}


def test_seeds_from_here_and_from_elsewhere() -> None:
    taken = joined(ROW, [Of((4, 0.5, 10.0)), Of((2, 0.25, 5.0))])
    own = Outcome(
        ROW, [3], {name: [0.75] for name in NAMES}, 7.0, ["folder"], runs=(Of((3, 1, 1)),)
    )
    both = merged(taken, own)
    assert (both.seeds, both.taken, both.seconds) == ([2, 3, 4], (4, 2), 22.0)
    assert [one.seed for one in both.runs] == [2, 3, 4]
    assert all(sorted(values) == [0.25, 0.5, 0.75] for values in both.numbers.values())
    assert both.folders == ["folder"]
    assert merged(taken, own._replace(seconds=None)).seconds is None
    assert merged(joined(ROW, []), own) is own


def test_a_number_of_all_seeds_together_needs_the_clients_of_every_run() -> None:
    row = next(row for row in preset("persfl-table-3", "small").rows)
    assert single(row) == ["accuracy", "sd over clients"]
    plain = dict.fromkeys(single(row), 2.0)
    first = FinishedRun(
        row.name, 0, {**plain, f"{CLIENT}a": 10.0, f"{CLIENT}b": 30.0}, 1.0, "", "", ""
    )
    second = first._replace(seed=1, numbers={**plain, f"{CLIENT}a": 20.0, f"{CLIENT}b": 20.0})
    name = "sd over clients of means"
    here = Outcome(row, [1], {one: [2.0] for one in plain}, 1.0, ["f"], runs=(second,))
    both = merged(joined(row, [first]), here)  # a: 15, b: 25
    found = [joined(row, [first]), both, joined(row, [first, second._replace(numbers=plain)])]
    assert [one.over_seeds for one in found] == [{name: 10.0}, {name: 5.0}, {name: None}]
    assert all(set(one.numbers) == set(plain) for one in found)
    last = lines(found)[2::3]
    assert [(line["published"], line["measured"]) for line in last] == [
        (1.7, 10.0),
        (1.7, 5.0),
        (1.7, None),
    ]


def test_a_measure_that_some_runs_lack_names_the_seeds_that_have_it() -> None:
    row = next(row for row in preset("persfl-table-3", "small").rows)
    whole = FinishedRun(row.name, 0, {"accuracy": 2.0, "sd over clients": 1.0}, 1.0, "", "", "")
    other = whole._replace(seed=1, numbers={"accuracy": 4.0, "sd over clients": None})
    first, second, _ = lines([joined(row, [whole, other])])
    assert (first["seeds"], second["seeds"]) == ([0, 1], [0])


def test_a_mean_of_nothing_is_none() -> None:
    assert mean([]) is None
    assert mean([1, 2, 4]) == pytest.approx(7 / 3)
