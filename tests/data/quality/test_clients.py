"""Faults of clients: the counts in each sentence are those of a federation made by hand."""

import numpy as np
import torch

from fedkin.data.quality.clients import SMALL, client_problems
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


def test_one_client_has_nobody_to_learn_from_and_none_is_asked_for() -> None:
    alone = client_problems(SOURCE, ("all",), np.array([99]), np.array([[40, 59]]))
    assert [one.kind for one in alone] == ["one client"]
    assert [one.kind for one in client_problems(SOURCE, (), None, None)] == ["no clients"]
