"""What is said of rows and clients that a division leaves out, by cases made by hand."""

import numpy as np

from fedkin.data.holdout import Holdout
from fedkin.data.left_out import in_no_split, not_chosen, over_clients, too_small, why_left_out
from fedkin.data.partitions.registry import Partition
from fedkin.data.source import Source

OWNERS = np.array(["a", "a", "a", "b", "c", "c"])
SOURCE = Source("toy", np.zeros((6, 1)), np.zeros(6, dtype=np.int64), 2, client=OWNERS)
ROWS = [np.array([0, 1, 2]), np.array([3]), np.array([4, 5])]


def test_clients_that_are_too_small_are_named_with_their_rows() -> None:
    assert too_small(ROWS, ["a", "b", "c"], np.array([0, 1, 2])) == []
    assert too_small(ROWS, ["a", "b", "c"], np.array([0])) == [
        "2 of 3 clients are too small for the splits and left out, 3 rows: b, c"
    ]
    assert too_small(ROWS, ["a", "b", "c"], np.array([0]), least=2) == [
        "1 of 3 clients have fewer than 2 samples (split.least) and are left out, 1 rows: b",
        "1 of 3 clients are too small for the splits and left out, 2 rows: c",
    ]


def test_why_clients_are_left_out() -> None:
    none = np.array([], dtype=np.int64)
    assert why_left_out(ROWS, none, 0) == "are too small for the splits"
    assert why_left_out(ROWS, none, 60) == "have fewer than 60 samples (split.least)"
    assert why_left_out(ROWS, np.array([0]), 2) == (
        "have fewer than 2 samples (split.least) or are too small for the splits"
    )


def test_natural_clients_that_were_not_drawn_are_counted() -> None:
    truth = {"name": np.array(["a", "c"]), "natural": np.array(True)}
    part = Partition([ROWS[0], ROWS[2]], truth)
    assert not_chosen(SOURCE, part) == [
        "2 of the 3 natural clients were drawn, as run.clients asks; the other 1 holds 1 rows"
    ]
    assert not_chosen(SOURCE._replace(client=None), part) == []
    whole = {"name": np.array(["a", "b", "c"]), "natural": np.array(True)}
    assert not_chosen(SOURCE, Partition(ROWS, whole)) == []


def test_rows_of_no_split_are_counted() -> None:
    held = Holdout([], [], [], np.zeros(0), parted=1)
    (said,) = in_no_split(held, "patient")
    assert said.startswith("1 row is in no split: they belong together (patient)")
    assert in_no_split(held._replace(parted=0), "patient") == []


def test_a_group_that_several_clients_have_is_told_unless_clients_are_natural() -> None:
    source, groups = SOURCE._replace(group="patient"), np.array([0, 0, 1, 1, 2, 2])
    (said,) = over_clients(source, "iid", groups, "patient", ROWS)
    assert said.startswith("1 value of 'patient' has rows at several clients, as iid divides them")
    assert over_clients(source, "natural", groups, "patient", ROWS) == []
    assert over_clients(source, "iid", groups, "duplicates", ROWS) == []
    assert over_clients(source, "iid", np.arange(6), "patient", ROWS) == []
