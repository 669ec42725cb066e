"""What a client's context says of its round."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.method import ClientInfo, plain_prediction
from fedkin.core.rng import Key, seeded
from fedkin.engine.codec import encode
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.engine.measures import standard_error_of_share
from fedkin.engine.op import Task
from fedkin.methods.parts.best_epoch import best_epoch
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small
from tests.methods.federation import architecture, population


def context(measure=""):
    info = ClientInfo(1, "mlr", 9, torch.tensor([2.0, 3.0, 4.0]), 0, 3)
    people, model = population(sizes=(5, 9), val=30), architecture()
    return LocalData(info, model, Key(7, 2, 1), people, Runtime("never"), Schedule(4), measure)


def test_milestones_reach_the_learning_rate(tmp_path):
    parts = assemble(small("local", train__milestones=[1], train__decay=1e-9))
    host = host_of(parts, [0], tmp_path)
    states = [encode(host.personal_state(0))]
    for number in (1, 2):
        list(host.do("local", number, [Task(0, None)]))
        states.append(host.personal_state(0))
    moved = (states[2]["parameters"]["1.weight"] - states[1]["parameters"]["1.weight"]).abs().max()
    assert moved < 1e-7
    assert encode(states[1]) != states[0]


def test_samples_by_chance_are_drawn_anew_in_every_round():
    """Batches of an expected size, by a secret that a client has for the whole run."""

    def drawn(round):
        told = replace(context(), key=Key(7, round, 1), secret=seeded(1))
        batch = told.batches("poisson", "samples 1", steps=30).gather(0, 30)
        return batch.weight.gt(0).sum(1).tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


@pytest.mark.parametrize(
    ("measure", "better"),
    [("accuracy", -1), ("", -1), ("log_loss", 1), ("auc", -1), ("ece", 1), ("macro_f1", -1)],
)
def test_a_choice_goes_by_the_experiments_measure_then_by_the_loss(measure, better):
    own = context(measure)
    w = own.model.initial
    loss, accuracy = own.score(w, "val")
    known = {"accuracy": accuracy, "": accuracy, "log_loss": loss}
    if measure not in known:
        known |= own.measure(w, plain_prediction, {"val": loss})["val"]
    assert own.rank(w, "val") == (better * known[measure], loss)
    people = own.population
    one_class = replace(people, y=torch.zeros_like(people.y))
    undefined = replace(own, population=one_class, chosen="auc")
    loss = undefined.score(w, "val")[0]
    assert undefined.rank(w, "val") == (loss, loss)
    nobody = replace(own, population=population(sizes=(5, 9), val=0))
    assert nobody.rank(w, "val")[1] != nobody.rank(w, "val")[1]  # nan


@pytest.mark.parametrize("measure", ["accuracy", "", "log_loss", "auc", "macro_f1"])
def test_a_model_that_diverged_is_the_last_choice(measure):
    """At a client whose samples are all of class 0, which argmax finds in a row of NaN."""
    own = context(measure)
    own = replace(own, population=replace(own.population, y=torch.zeros_like(own.population.y)))
    w = own.model.initial
    nothing = {name: torch.full_like(value, math.nan) for name, value in w.items()}
    assert own.rank(nothing, "val") == (math.inf, math.inf)
    assert own.rank(w, "val") < own.rank(nothing, "val")
    assert own.rank_error(nothing, "val", (math.inf, math.inf)) == 0.0
    assert best_epoch(w, own, 2, 1e308)["epochs"] == 0
    assert best_epoch(nothing, own, 2, 1e308)["epochs"] == 0


@pytest.mark.parametrize("measure", ["accuracy", "", "log_loss", "auc"])
def test_the_error_of_a_choice_is_the_spread_over_other_samples(measure):
    """Beside the spread of the measure over 400 draws of 30 rows from the client's 30."""
    own = context(measure)
    w = own.model.initial
    rng, rows = np.random.default_rng(3), own.population.val[1]
    others = []
    for _ in range(400):
        val = [own.population.val[0], rng.choice(rows, len(rows))]
        drawn = replace(own, population=replace(own.population, val=val))
        others.append(drawn.rank(w, "val")[0])
    assert own.rank_error(w, "val", own.rank(w, "val")) == pytest.approx(np.std(others), rel=0.15)


def test_the_error_of_a_share_is_not_zero_where_a_few_are_all_right():
    assert standard_error_of_share(1.0, 10) == pytest.approx(
        math.sqrt(12 * 2 / 14**3)
    )  # 12 of 14 are right
    assert standard_error_of_share(0.5, 96) == pytest.approx(0.05)  # √(¼ / 100)
    nobody = replace(context(), population=population(sizes=(5, 9), val=0))
    w = nobody.model.initial
    assert nobody.rank_error(w, "val", (0.0, math.nan)) == 0.0
    one_class = context("auc")
    labels = torch.zeros_like(one_class.population.y)
    undefined = replace(one_class, population=replace(one_class.population, y=labels))
    assert undefined.rank_error(w, "val", undefined.rank(w, "val")) == 0.0
