"""Faults of clients: the counts in each sentence are those of a federation made by hand."""

import numpy as np
import torch

from fedkin.data.quality.clients import SMALL, client_problems
from fedkin.data.quality.labels import MANY
from fedkin.data.source import Source

NAMES = ("s10", "s9", "s2", "s1")
SOURCE = Source("made", torch.zeros(4, 1).numpy(), np.array([0, 1, 0, 1]), 2, "classification")


def test_small_few_and_one_class_are_three_faults_with_their_clients() -> None:
    sizes = np.array([2, SMALL, SMALL - 1, 90])
    table = np.array([[1, 1], [SMALL, 0], [4, SMALL - 5], [45, 45]])
    found = {one.kind: one for one in client_problems(SOURCE, NAMES, sizes, table)}
    assert set(found) == {"small client", "client hard to judge", "one class"}
    assert "1 of 4" in found["small client"].says
    assert "s10" in found["small client"].says
    assert "(s2)" in found["client hard to judge"].says
    assert found["client hard to judge"].fix == {"split.least": SMALL}
    assert "(s9)" in found["one class"].says
    assert all(one.share == 0.25 for one in found.values())


def test_nobody_proposes_to_leave_all_clients_out() -> None:
    sizes = np.array([2, SMALL - 1, SMALL - 1, 9])
    found = {one.kind: one for one in client_problems(SOURCE, NAMES, sizes, None)}
    assert found["client hard to judge"].fix == {}
    assert "leave them out" not in found["client hard to judge"].why


def test_one_client_has_nobody_to_learn_from_and_none_is_asked_for() -> None:
    alone = client_problems(SOURCE, ("all",), np.array([99]), np.array([[40, 59]]))
    assert [one.kind for one in alone] == ["one client"]
    assert [one.kind for one in client_problems(SOURCE, (), None, None)] == ["no clients"]


def test_a_client_that_lacks_a_class_is_named_with_the_class() -> None:
    source = SOURCE._replace(classes=4, class_names=("mild", "no", "severe", "rare"))
    table = np.array([[30, 30, 0, 0], [30, 0, 0, 0], [30, 30, 30, 2], [0, 30, 30, 0]])
    found = client_problems(source, NAMES, table.sum(axis=1), table)
    assert [one.kind for one in found] == ["one class", "absent class"]
    assert "2 clients have no sample at all of some class" in found[1].says
    assert "(s10: no 'severe', s1: no 'mild')" in found[1].says  # two samples in all: another fault
    assert (found[1].share, found[1].fix) == (0.5, {})


def test_a_class_in_another_spelling_is_not_absent() -> None:
    source = SOURCE._replace(classes=3, class_names=("No", "no", "yes"))
    table = np.array([[30, 0, 30], [0, 30, 30]])
    assert client_problems(source, NAMES[:2], table.sum(axis=1), table) == []


def test_of_many_absent_classes_their_number_is_told() -> None:
    table = np.array([[30, 30, 0, 0, 0], [30, 30, 30, 30, 30]])
    (found,) = client_problems(SOURCE._replace(classes=5), NAMES[:2], table.sum(axis=1), table)
    assert "1 client has" in found.says
    assert "(s10: none of 3 classes)" in found.says


def test_among_many_classes_absent_ones_are_the_rule() -> None:
    table = np.full((2, MANY + 1), 30)
    table[0, 0] = 0
    source = SOURCE._replace(classes=MANY + 1)
    assert client_problems(source, NAMES[:2], table.sum(axis=1), table) == []
