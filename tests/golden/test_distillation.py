"""FedDF and KT-pFL beside their authors' code."""

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.method import FederationInit, updated
from fedkin.core.ops import scan
from fedkin.core.rng import Key
from fedkin.core.tree import row
from fedkin.methods.feddf import feddf
from fedkin.methods.kt_pfl import kt_pfl
from fedkin.methods.parts.codistillation import distillation_step, log_predictions
from tests.golden.recorded import RecordedServer, linear, recorded_rows

CLIENTS, PUBLIC, STEPS = 4, 12, 6


@pytest.mark.certifies("feddf", "golden")
def test_feddf(verdict):
    """The student after each of six steps; the default scheme of their code is not the paper's."""
    v = verdict("feddf_distill")
    model, public = linear(), torch.from_numpy(v.trace.array("public", PUBLIC, 4))
    samples = v.trace.array("samples", CLIENTS).tolist()
    uploads = v.trace.tree("uploads", model.initial, CLIENTS)
    rows = v.trace.array("rows", STEPS, 5)
    replies = {k: Reply({"parameters": row(uploads, k)}, float(n)) for k, n in enumerate(samples)}
    start = FederationInit(
        {"m": model.initial},
        tuple(replies),
        PUBLIC,
        3,
        lambda k: model.initial,
        dict.fromkeys(replies, "m"),
    )
    student = v.trace.tree("student", model.initial, STEPS)
    default = v.trace.tree("student_avg_losses", model.initial, STEPS)
    for steps in range(1, STEPS + 1):
        method = feddf(lr=1.0, distill_steps=steps, distill_lr=v.trace.number("lr"), public_batch=5)
        server = RecordedServer(Key(0, 1), {"m": model}, public, rows)
        found = updated(method, method.server(start), replies, server)["parameters"]["m"]
        v.compare("student", found, row(student, steps - 1))
        v.compare("student by avg_losses", found, row(default, steps - 1))
    v.agrees("student")
    why = (
        "the default of their code averages the losses against each teacher; the paper "
        "averages logits"
    )
    v.deviates("student by avg_losses", why, 0.0203)


@pytest.mark.certifies("kt_pfl", "golden")
def test_kt_pfl(verdict):
    v = verdict("kt_pfl")
    model, public = linear(), torch.from_numpy(v.trace.array("public", PUBLIC, 4))
    temperature = v.trace.number("temperature")
    models = v.trace.tree("models", model.initial, CLIENTS)
    theirs = torch.from_numpy(v.trace.array("predictions", CLIENTS, PUBLIC, 3))
    told = [
        torch.softmax(log_predictions(model, row(models, k), public) / temperature, 1)
        for k in range(CLIENTS)
    ]
    v.compare("predictions", torch.stack(told), theirs)
    knowledge = torch.from_numpy(v.trace.array("knowledge", 3, CLIENTS, CLIENTS))
    teams = torch.from_numpy(v.trace.array("teams", 3, CLIENTS, PUBLIC, 3))
    method = kt_pfl(lr=1.0, rho=v.trace.number("penalty"), temperature=temperature, kappa_lr=0.0)
    start = FederationInit(
        {"m": model.initial}, tuple(range(CLIENTS)), PUBLIC, 3, lambda k: model.initial
    )
    replies = {k: Reply({"predictions": theirs[k]}, 1.0) for k in range(CLIENTS)}
    tools = RecordedServer(Key(0, 1), {}, public)
    for kappa, team in zip(knowledge, teams, strict=True):
        state = updated(method, {**method.server(start), "knowledge": kappa}, replies, tools)
        v.compare("teams", state["teams"], team)
    state = method.server(start)
    moving = kt_pfl(lr=1.0, rho=v.trace.number("penalty"), temperature=temperature)
    for kappa in knowledge:
        state = updated(moving, state, replies, tools)
        v.compare("knowledge coefficients", state["knowledge"], kappa)
    rows = v.trace.array("rows", 4, 5)
    batches = recorded_rows(model, (public, teams[0, 0]), rows, 5, 4)
    student = v.trace.tree("student", model.initial, 4)
    for classes, what in ((3, "student at lr / classes"), (1, "student")):
        rate = v.trace.number("lr") / classes
        for steps in range(1, 5):
            found = scan(
                distillation_step, row(models, 0), batches._replace(steps=steps), rate, temperature
            )
            v.compare(what, found, row(student, steps - 1))
    v.agrees("predictions", "teams", "student at lr / classes")
    v.deviates("student", "theirs divides the KL by batch · classes", 0.014)
    why = (
        "theirs moves κ by a mean squared distance (paper: KL), client after client, "
        "through softmax(5κ)"
    )
    v.deviates("knowledge coefficients", why, 0.122)
