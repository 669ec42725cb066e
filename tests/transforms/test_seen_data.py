"""A client's data of which a transform shows some parts in another form."""

import torch

from fedkin.core.method import ClientContext, ClientInfo
from fedkin.core.rng import Key, Secret
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.runtime.replay import Runtime
from fedkin.transforms.seen_data import SeenData
from tests.methods.federation import architecture, population

PEOPLE = population(sizes=(5, 9), public=8)
INFO = ClientInfo(1, "mlr", 9, torch.tensor([2.0, 3.0, 4.0]), 8, 3)
OWN = LocalData(
    INFO,
    architecture(),
    Key(7, 2, 1),
    PEOPLE,
    Runtime("never"),
    Schedule(4, steps=3, milestones=(1,), milestone_factor=0.25),
    secret=Secret(bytes(32)),
)
PARTS = [name for name in vars(ClientContext) if not name.startswith("_")]


def test_everything_of_a_context_is_there_and_the_clients_own() -> None:
    seen = SeenData(OWN)
    assert len(PARTS) > 9
    for name in PARTS:
        if name not in ("public", "public_y", "info", "model"):
            assert getattr(seen, name) == getattr(OWN, name), name
    assert seen.info is OWN.info
    assert seen.model is OWN.model
    assert seen.public is OWN.public
    assert seen.public_y is OWN.public_y
    assert seen.decay == 0.25


def test_what_is_given_stands_in_its_place_alone() -> None:
    told = INFO._replace(samples=99)
    seen = SeenData(OWN, info=told, score=lambda w, split: (1.5, 0.5))
    assert seen.info.samples == 99
    assert seen.score({}, "val") == (1.5, 0.5)
    assert seen.batches == OWN.batches
    assert len(seen.whole("train")[0].y) == 9
    other = SeenData(OWN, batches=lambda *a, **b: "drawn", whole=lambda split: [split])
    assert other.batches("uniform", steps=1) == "drawn"
    assert other.whole("val") == ["val"]
    assert other.info is INFO
