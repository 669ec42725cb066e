"""FedFomo beside its authors' code and PFLlib's."""

import pytest
import torch

from fedkin.core.tree import row
from fedkin.methods.fedfomo import fedfomo
from tests.golden.recorded import Replay, linear, perceptron
from tests.methods.pairs_matrix import matrix

ROUNDS, CLIENTS = 4, 4
DIVIDED = "theirs divides a client's gains by their sum before it adds them to the affinities"


def replayed(v, *, own_baseline=False):
    """Compare every round; PFLlib's arrays begin with the first one, in which nobody is sent a
    model.

    ``own_baseline``: the place that a client compares with is told to be its trained model.
    """
    lib = v.trace.name == "fedfomo_pfllib"
    model = perceptron() if lib else linear(bias=False)
    replay = Replay(fedfomo(lr=v.trace.number("lr"), candidates=3), v.trace, model)
    rounds = ROUNDS if lib else ROUNDS - 1
    trained = v.trace.tree("local", model.initial, ROUNDS, CLIENTS)
    mixed = v.trace.tree("mixed", model.initial, rounds, CLIENTS)
    baselines = v.trace.tree("baseline", model.initial, rounds, CLIENTS)
    gains = torch.from_numpy(v.trace.array("gains", rounds, CLIENTS, CLIENTS))
    sent = v.trace.array("sent", rounds, CLIENTS, -1).tolist() if lib else None
    for t in range(ROUNDS):
        at = t if lib else t - 1  # where the arrays have this round's mixing
        others = [[j for j in range(CLIENTS) if j != i] for i in range(CLIENTS)]
        if sent is not None:
            others = [[j for j in row_ if j not in (-1, i)] for i, row_ in enumerate(sent[t])]
        others = others if t else [[]] * CLIENTS
        replay.state = {
            **replay.state,
            "candidates": tuple(torch.tensor(j, dtype=torch.int64) for j in others),
        }
        if own_baseline:
            replay.own = {k: {**own, "before": own["parameters"]} for k, own in replay.own.items()}
        if t:  # in their first round nobody mixes
            for i, own in replay.own.items():
                v.compare("baselines", own["before"], row(row(baselines, at), i))
        moment = replay.round(t)
        for i, up in moment.up.items():
            v.compare("trained models", up["parameters"], row(row(trained, t), i))
            if t:
                seen = [*others[i], i]
                v.compare("gains", up["coefficients"], gains[at, i][seen])
                v.compare("mixed models", moment.own[i]["before"], row(row(mixed, at), i))
                if (
                    not lib and matrix(moment.state["weights"], CLIENTS)[i].any()
                ):  # else theirs is 1 for the baseline
                    theirs = torch.from_numpy(v.trace.array("weights", rounds, CLIENTS, CLIENTS))
                    ours = matrix(moment.state["weights"], CLIENTS)[i]
                    v.compare("weights", ours, theirs[at, i])
        if t and "affinity" in v.trace.arrays:
            affinity = torch.from_numpy(v.trace.array("affinity", rounds, CLIENTS, CLIENTS))[at]
            apart = 1 - torch.eye(CLIENTS)  # theirs also adds own gains, which choose nothing
            v.compare(
                "affinities", matrix(moment.state["affinity"], CLIENTS) * apart, affinity * apart
            )


@pytest.mark.certifies("fedfomo", "golden")
def test_fedfomo(verdict):
    v = verdict("fedfomo_first_l2")
    assert v.trace.number("weight_decay") == 0
    replayed(v)
    v.agrees(*(name for name in v.errors if name != "affinities"))
    v.deviates("affinities", DIVIDED, 9.17)


@pytest.mark.certifies("fedfomo", "golden")
def test_fedfomo_of_pfllib(verdict):
    v = verdict("fedfomo_pfllib", "they add 1e-5 under the fraction")
    replayed(v)
    v.agrees(within=2e-5)


@pytest.mark.certifies("fedfomo", "golden")
def test_fedfomo_as_shipped(verdict):
    v = verdict("fedfomo_shipped")
    assert v.trace.number("weight_decay") == 1e-4
    replayed(v)
    v.deviates("affinities", DIVIDED, 8.68)
    why = "theirs measures distance in ‖·‖₁ of all parameters, and has weight decay 1e-4"
    figures = {
        "trained models": 0.0138,
        "gains": 0.269,
        "mixed models": 0.0179,
        "baselines": 0.0179,
        "weights": 0.0371,
    }
    for what, figure in figures.items():
        v.deviates(what, why, figure)


@pytest.mark.certifies("fedfomo", "golden")
def test_fedfomo_from_the_trained_model(verdict):
    """An option of theirs that they do not run: the own trained model is the baseline, and no
    candidate.
    """
    v = verdict("fedfomo_current_l2", "the baseline is told to be the trained model")
    assert v.trace.number("weight_decay") == 0
    replayed(v, own_baseline=True)
    v.agrees()
