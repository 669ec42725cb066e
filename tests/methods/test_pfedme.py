"""pFedMe against its pseudo-code."""

import pytest
import torch

from fedkin.experiment.run import experiment, run
from fedkin.methods.cgpfl import cgpfl
from fedkin.methods.pfedme import pfedme
from fedkin.report.summary import summary
from tests.methods.cgpfl_examples import HYPER, ROUNDS, WORK, arguments, check_clients, people
from tests.methods.federation import (
    Federated,
    agree,
    architecture,
    population,
)
from tests.reference import pfedme_cgpfl as reference

START = {"persistent": {"persist": True}, "received": {"persist": False, "restart": "round"}}


@pytest.mark.certifies("pfedme", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize(("kind", "beta"), [("mlr", 1.0), ("dnn", 0.5), ("mlr", 2.0)])
@pytest.mark.parametrize(
    ("start", "weights"), [("persistent", None), ("received", None), ("received", "samples")]
)
def test_pfedme(start, weights, kind, beta, work):
    model = architecture(kind)
    weighed = {"weights": weights} if weights else {}
    method = pfedme(**HYPER, **weighed, beta=beta, start=start)
    run = Federated(method, people(), {kind: model}, **work).run(ROUNDS)
    theirs = reference.pfedme(
        *arguments(run, model.initial),
        alpha=beta,
        samples=weights == "samples",
        **START[start],
    )[1:]
    check_clients("pfedme", run, theirs)
    for moment, other in zip(run.moments, theirs, strict=True):
        agree(
            "pfedme", {n: v[0] for n, v in moment.state["models"].items()}, other["server"]["model"]
        )


@pytest.mark.certifies("pfedme", "law")
@pytest.mark.parametrize("weights", ["uniform", "samples"])
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_its_runs_have_the_fingerprint_of_cgpfl_with_one_cluster(beta, weights):
    """A mean that is summed exactly has the bits of one that is added up message by message."""
    work, single = {"steps": 2, "participation": 0.6}, torch.float32
    runs = [
        Federated(
            method, population(dtype=single), {"dnn": architecture("dnn", dtype=single)}, **work
        )
        for method in (
            pfedme(**HYPER, beta=beta, weights=weights),
            cgpfl(**HYPER, clusters=1, alpha=beta, weights=weights),
        )
    ]
    one, other = (federated.run(ROUNDS).coordinator.fingerprint() for federated in runs)
    assert one == other


@pytest.mark.parametrize(
    "protection",
    [
        {"privacy__secure_aggregation": True},
        {"privacy__clip": 1.0, "privacy__noise": 1.0, "privacy__delta": 1e-5},
        {"server__optimizer": "adam"},
        {"transforms": [{"name": "median"}]},
    ],
    ids=["masks", "noise", "server optimizer", "robust rule"],
)
def test_what_works_on_a_sum_works_on_it(protection, tmp_path):
    settings = {"data__name": "digits", "run__clients": 6, "run__rounds": 2, "train__steps": 2}
    settings["engine__name"] = "inprocess"
    spec = experiment(
        {"transforms": protection.pop("transforms", [])},
        method__name="pfedme",
        **settings,
        **protection,
    )
    assert summary(run(spec, tmp_path / "run"))["rounds"] == 2
