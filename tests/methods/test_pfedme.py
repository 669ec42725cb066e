"""pFedMe against its pseudo-code."""

import pytest

from fedkin.methods.pfedme import pfedme
from tests.methods.cgpfl_examples import HYPER, ROUNDS, WORK, arguments, check_clients, people
from tests.methods.federation import (
    Federated,
    agree,
    architecture,
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
