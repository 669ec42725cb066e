"""Models that fit and predict, for methods that exchange predictions."""

import numpy as np
import torch

from fedkin.core.method import ClientInfo
from fedkin.core.model import Inputs
from fedkin.core.rng import Key
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.methods import make
from fedkin.models.learner import from_learner
from fedkin.runtime.replay import Runtime
from fedkin.transforms.black_box_models import allow_black_box_models
from tests.methods.federation import CLASSES, architecture, population
from tests.models.learner_examples import Counting

PEOPLE = population(sizes=(5, 9), public=8, dtype=torch.float32)


def context(model):
    info = ClientInfo(1, model.name, 9, torch.ones(CLASSES), 8, CLASSES)
    return LocalData(info, model, Key(7, 1, 1), PEOPLE, Runtime("never"), Schedule(4, steps=3))


def test_a_round_fits_private_rows_alone_until_there_is_a_target() -> None:
    learner = Counting()
    model = from_learner("count", learner, Inputs(mean=(1.0,)))
    method = allow_black_box_models(make("ds_fl", {"public_batch": 5}, {"lr": 0.1}))
    none = {"predictions": torch.zeros(0, CLASSES)}
    own, sent = method.client_update(none, {"parameters": model.initial}, context(model))
    assert len(learner.parts) == 3
    assert all(part.public is None and part.target is None for part in learner.parts)
    private = PEOPLE.part(1, "train")[0].numpy() - 1  # as the model's inputs are
    for part in learner.parts:
        for row in part.x:
            assert np.abs(private - row).sum(1).min() < 1e-5
    assert own["parameters"]["fits"].tolist() == [1]
    assert float(own["parameters"]["counts"].sum()) == sum(len(p.y) for p in learner.parts)
    assert sent["predictions"].shape == (8, CLASSES)


def test_public_rows_come_with_their_targets() -> None:
    learner = Counting()
    model = from_learner("count", learner)
    method = allow_black_box_models(make("ds_fl", {"public_batch": 5}, {"lr": 0.1}))
    target = torch.softmax(torch.arange(24.0).view(8, 3) % 5, 1)
    method.client_update({"predictions": target}, {"parameters": model.initial}, context(model))
    public = PEOPLE.public.numpy()
    for part in learner.parts:
        assert part.public.shape == (5, 4)
        for row, told in zip(part.public, part.target):
            (place,) = np.flatnonzero((public == row).all(1))
            assert np.isclose(told.sum(), 1, atol=1e-5)
            assert told.argmax() == target[place].argmax()
    assert len({tuple(p.public.ravel()) for p in learner.parts}) == 3  # drawn anew


def test_torch_modules_work_as_ever() -> None:
    plain = make("ds_fl", {"public_batch": 5}, {"lr": 0.1})
    model = architecture("dnn", dtype=torch.float32)
    none = {"predictions": torch.zeros(0, CLASSES)}
    own = {"parameters": model.initial}
    one, two = (
        method.client_update(none, own, context(model))
        for method in (plain, allow_black_box_models(plain))
    )
    assert torch.equal(one[1]["predictions"], two[1]["predictions"])
