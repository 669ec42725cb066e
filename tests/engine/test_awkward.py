"""What a fixture in ascending order hides: who is drawn how often, and what the finish sends."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedkin.engine.round.federation import participants
from tests.awkward import ORDERS
from tests.engine.coordinated import federation


@pytest.mark.parametrize("order", ORDERS)
def test_each_client_is_drawn_with_the_chance_of_its_own_size(order: str) -> None:
    sizes = [one.train for one in ORDERS[order]]
    infos = {k: SimpleNamespace(samples=size) for k, size in enumerate(sizes)}
    method: Any = SimpleNamespace(needs=SimpleNamespace(sampling="size"))
    one: Any = SimpleNamespace(infos=infos, participation=0.1, seed=3, poisson=False)
    drawn = [participants(method, one, number)[0] for number in range(1500)]
    found = np.bincount(drawn, minlength=len(sizes)) / len(drawn)
    expected = np.array(sizes) / sum(sizes)
    assert abs(found - expected).max() < 4 * np.sqrt(0.25 / len(drawn))
    assert abs(np.sort(expected) - expected).max() > 0.2  # the other order would be seen


def test_what_goes_down_before_the_finish_is_in_the_ledger() -> None:
    """One message a client, of one broadcast; nothing comes up."""
    one = federation("finetune", run__participation=0.5, run__rounds=1)
    one.round(1)
    sent = one.finish(2).sent
    assert [(s.client, s.direction, s.copy) for s in sent] == [
        (k, "down", int(k > 0)) for k in range(6)
    ]
    assert all(s.scalars["parameters"] == 650 for s in sent)
