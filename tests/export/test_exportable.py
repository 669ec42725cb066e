"""A personal model on its way out of where it was trained."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import plain_prediction
from fedkin.export import exportable as module
from fedkin.export.exportable import SAMPLES, exportable, samples_of
from fedkin.export.opened_run import Member
from fedkin.export.personal import Personal
from tests.awkward import population
from tests.methods.federation import architecture

PEOPLE = population()
NONE = tuple(np.zeros(0, np.int64) for _ in range(6))


def test_samples_are_of_the_first_that_has_some_for_testing() -> None:
    few = replace(PEOPLE, test=(NONE[0], *PEOPLE.test[1:]))
    rows = PEOPLE.test[2][:SAMPLES]
    assert torch.equal(samples_of("a", few, [0, 2, 1]), PEOPLE.x[torch.from_numpy(rows)])
    without = replace(PEOPLE, test=NONE)
    own = torch.from_numpy(PEOPLE.train[3][:SAMPLES])
    assert torch.equal(samples_of("a", without, [3, 1]), PEOPLE.x[own])


def test_no_more_than_are_needed(monkeypatch) -> None:
    monkeypatch.setattr(module, "SAMPLES", 4)
    assert len(samples_of("a", PEOPLE, [1])) == 4


def test_without_samples_nothing_is_compared() -> None:
    nothing = replace(PEOPLE, test=NONE, train=NONE)
    with pytest.raises(FedkinError, match="client a has no samples to compare its exported model"):
        samples_of("a", nothing, [0, 1])


MODEL = architecture("mlr", dtype=torch.float32)


def opened():
    parts = SimpleNamespace(
        population=PEOPLE, models={"mlr": MODEL}, spec=SimpleNamespace(data="the data")
    )
    return SimpleNamespace(
        parts=parts,
        view=lambda member, name: MODEL.initial,
        deployed=lambda member, view: Personal(MODEL, view, plain_prediction),
        architecture=lambda member: "mlr",
    )


@pytest.mark.parametrize(("number", "client"), [(4, 4), (None, 0)])
def test_who_joined_is_compared_on_samples_of_the_run(number, client, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(module, "card_of", lambda *given: asked.append(given) or {"a": "card"})
    member = Member("s1" if number is not None else "guest", number)
    found = exportable(opened(), member)
    assert found.client == member.name
    assert found.view is MODEL.initial
    assert found.data == "the data"
    assert asked == []  # a card is made when it is asked for
    assert found.card() == {"a": "card"}
    assert asked[0][1] is member
    rows = torch.from_numpy(PEOPLE.test[client][:SAMPLES])
    assert torch.equal(found.samples(), PEOPLE.x[rows])
