"""FedKD beside tests/reference/fedkd.py, its reductions, and what two models tell each other."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment, run
from fedkin.methods.fedavg import fedavg
from fedkin.methods.fedkd import fedkd
from fedkin.methods.local import local
from fedkin.methods.parts.low_rank import multiplied
from fedkin.report.summary import summary
from tests.laws.small import close, same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedkd as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 2},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}
HYPER = {
    "default": {"rounds": 100},
    "own": {"personal_lr": 0.2, "distill": 0.7, "hidden": 0.4, "rounds": 3, "weights": "samples"},
    "little": {"energy_start": 0.2, "energy_end": 0.6, "rounds": 8},
}
ALL = {"energy_start": 1.0, "energy_end": 1.0}


def federation(made, **work):
    return Federated(made, population(), {"dnn": architecture("dnn")}, **work)


def thresholds(energy_start=0.95, energy_end=0.98, rounds=100, **_):
    """T of each round, whose numbers count from 1."""
    done = [min(t, rounds) / rounds for t in range(1, ROUNDS + 1)]
    return [energy_start * (1 - part) + energy_end * part for part in done]


@pytest.mark.certifies("fedkd", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedkd(hyper, work):
    run = federation(fedkd(lr=LR, **hyper), **work).run(ROUNDS)
    start = run.models["dnn"].initial
    theirs = reference.fedkd(
        arrays(start),
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("personal_lr", LR), ROUNDS),
        thresholds(**hyper),
        hyper.get("distill", 1.0),
        hyper.get("hidden", 1.0),
        hyper.get("weights") == "samples",
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedkd", moment.state, {"parameters": other["server"]})
        for k, change in other["changes"].items():
            sent = {n: torch.from_numpy(v) for n, v in moment.up[k]["parameters"].items()}
            agree("fedkd", arrays(multiplied(sent, start)), change)
        for k, mentor in other["mentors"].items():
            agree("fedkd", moment.own[k]["parameters"], mentor)
            if "map" in moment.own[k]:
                agree("fedkd", moment.own[k]["map"], other["maps"][k])
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for model, view in ((mentor, "personal"), (other["server"], "global")):
                loss, right = mean_loss(model, x, y), accuracy(model, x, y)
                agree_scores("fedkd", moment, k, "test", loss, right, view)


@pytest.mark.certifies("fedkd", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_alone_the_mentor_is_local_and_the_mentee_fedavg(work):
    """Without a pull between them: the mentor is that of `local`, to the bit; with all of the
    energy the mentee is FedAvg's, for either weights.
    """
    for weights in ("uniform", "samples"):
        ours = federation(fedkd(lr=LR, distill=0, hidden=0, weights=weights, **ALL), **work)
        shared = federation(fedavg(lr=LR, weights=weights), **work)
        alone = federation(local(lr=LR), **work)
        runs = [run.run(ROUNDS).moments for run in (ours, shared, alone)]
        for one, other, third in zip(*runs, strict=True):
            close(one.state, other.state, 1e-12)
            for k in one.own:
                assert same(one.own[k]["parameters"], third.own[k]["parameters"])


@pytest.mark.certifies("fedkd", "law")
def test_in_the_first_round_the_two_are_one():
    """They begin alike and see the same samples: neither has anything to tell the other."""
    work = {"epochs": 2}
    ours = federation(fedkd(lr=LR, **ALL), **work).run(2)
    shared = federation(fedavg(lr=LR, weights="uniform"), **work).run(2)
    first, second = zip(ours.moments, shared.moments, strict=True)
    close(first[0].state, first[1].state, 1e-12)
    for k, own in first[0].own.items():
        close(own["parameters"], first[1].up[k]["parameters"], 1e-12)
    apart = second[0].state["parameters"]["out.bias"] - second[1].state["parameters"]["out.bias"]
    assert abs(apart).max() > 1e-3


@pytest.mark.certifies("fedkd", "law")
def test_one_step_on_one_sample_is_of_rank_one():
    """One client, one sample, one step: with the least energy nothing of it is lost."""
    group, model = population((1,)), {"dnn": architecture("dnn")}
    least = {"energy_start": 0.0, "energy_end": 0.0, "distill": 0.0, "hidden": 0.0}
    ours = Federated(fedkd(lr=LR, **least), group, model, steps=1).run(3)
    theirs = Federated(fedavg(lr=LR), group, model, steps=1).run(3)
    for one, other in zip(ours.moments, theirs.moments, strict=True):
        close(one.state, other.state, 1e-12)


def test_the_energy_counts():
    """The same with two samples: their gradients differ, and one rank of two is lost."""
    group, model = population((2,)), {"dnn": architecture("dnn")}
    least = {"energy_start": 0.0, "energy_end": 0.0, "distill": 0.0, "hidden": 0.0}
    ours = Federated(fedkd(lr=LR, **least), group, model, steps=1).run(1)
    theirs = Federated(fedavg(lr=LR), group, model, steps=1).run(1)
    one, other = (run.moments[0].state["parameters"]["hidden.weight"] for run in (ours, theirs))
    assert abs(one - other).max() > 1e-3


@pytest.mark.parametrize(
    "wrong", [{"distill": -1.0}, {"hidden": -0.1}, {"energy_end": 1.1}, {"rounds": 0}]
)
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedkd: input should be"):
        fedkd(lr=0.1, **wrong)


def test_a_value_trains_the_schedule_of_its_name_or_is_refused(tmp_path):
    """T rises over the rounds of the run, of which a value is told by its caller."""
    settings = {"data__name": "digits", "model__name": "dnn", "run__clients": 4, "run__rounds": 2}
    settings |= {"train__steps": 1, "engine__name": "inprocess"}
    named = run(experiment(method__name="fedkd", **settings), tmp_path / "named")
    value = run(experiment(**settings), tmp_path / "value", method=fedkd(lr=0.1, rounds=2))
    assert summary(named)["fingerprint"] == summary(value)["fingerprint"]
    with pytest.raises(FedkinError, match=r"as in fedkd\(lr=0\.1, rounds=20\)$"):
        run(experiment(**settings), tmp_path / "refused", method=fedkd(lr=0.1))
