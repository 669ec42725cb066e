"""PPFL beside tests/reference/ppfl.py: structures, schedules, kinds of membership steps, weights,
families.
"""

from itertools import product

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.methods.ppfl import ppfl
from tests.methods.federation import (
    SEED,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    family_of,
    population,
)
from tests.reference import ppfl as reference
from tests.reference.model import cross_entropy_of_logits, size

LR, MEMBERSHIP_LR, ROUNDS, MODELS = 0.3, 0.8, 4, 3
# a Laplacian that matters: 2 λ (LC)_i is as large as ∇_c f_i once memberships differ
LAM = 0.15
SHAPES = {  # architecture, and what of it is canonical: by the option and by the reference's names
    "mlr, all": ("mlr", "all", None),
    "dnn, all": ("dnn", "all", None),
    "dnn, last layer": ("dnn", "out.", ["out.weight", "out.bias"]),
    "mlr, weight": ("mlr", ["weight"], ["weight"]),
}
WORK = {
    "epochs": {"epochs": 1},
    "some, decay": {
        "steps": 3,
        "participation": 0.6,
        "milestones": (1, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


def federated(
    kind, canonical, work, *, family="categorical", affinity="label_cosine", lam=LAM, **hyper
):
    people = population((5, 9, 4, 11, 7), seed=2, family=family)
    draws = [architecture(kind, seed, family=family_of(family)) for seed in (1, 2, 3)]
    method = ppfl(
        lr=LR,
        membership_lr=MEMBERSHIP_LR,
        models=MODELS,
        canonical=canonical,
        affinity=affinity,
        lam=lam,
        **hyper,
    )
    return Federated(method, people, {kind: draws[0]}, draws=draws, **work).run(ROUNDS)


def replay(run, names, *, family="categorical", affinity="label_cosine", lam=LAM, **hyper):
    drawn = [reference.split(arrays(model.initial), names) for model in run.draws]
    start = {"com": drawn[0][0], "canonical": [part for _, part in drawn]}
    batches = hyper.get("membership_steps") == "batches"
    arguments = {
        "schedule": hyper.get("schedule", "alternate"),
        "blocks": blocks(hyper.get("theta_share", 0.5)),
        "structure": hyper.get("structure", 1),
        "family": {"categorical": "softmax", "gaussian": "linear", "bernoulli": "logistic"}.get(
            family, family
        ),
        "c_scale": hyper.get("membership_scale", "client"),
        "weights": hyper.get("weights", "samples"),
    }
    positional = (
        start,
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(MEMBERSHIP_LR, ROUNDS),
        lam,
        matrix(run, affinity),
    )
    if batches:
        return ppfl_by_batches(*positional, run.plan(ROUNDS, purpose="membership"), **arguments)
    steps = hyper.get("membership_steps", "full")
    steps = 1 if steps == "full" else steps
    return reference.ppfl(*positional, c_gradient="full", divide=False, c_steps=steps, **arguments)


def matrix(run, affinity):
    if affinity == "none":
        return None
    if affinity != "label_cosine":
        return np.array(affinity)
    classes = run.people.classes
    if classes == 0:
        return None
    return reference.label_affinity(
        np.array([np.bincount(run.data[k]["y"], minlength=classes) for k in run.infos])
    )


def blocks(theta_share):
    """Algorithm 1, line 3: the block of round t is drawn before it, with probability ρ for θ."""
    drawn = [Key(SEED, t).numpy("block").random() for t in range(ROUNDS)]
    return ["theta" if u < theta_share else "c" for u in drawn]


def ppfl_by_batches(
    start,
    data,
    plan,
    participants,
    lr,
    lr_c,
    lam,
    W,
    c_plan,
    *,
    schedule,
    blocks,
    structure,
    family,
    c_scale,
    weights,
):
    """The authors' scripts: one mirror step per mini-batch, λ(LC)_i as received; else as the
    reference.
    """
    theta, K = reference.copy_theta(start), len(start["canonical"])
    C = {k: np.full(K, 1 / K) for k in data}
    total = sum(size(client) for client in data.values())
    p = {k: 1 / len(data) if weights == "uniform" else size(data[k]) / total for k in data}
    how = {"structure": structure, "family": family}
    history = []
    for t in range(len(plan)):
        before = np.array([C[k] for k in data])
        if schedule == "alternate" or blocks[t] == "c":
            for k in participants[t]:
                pull = 2 * lam * (reference.laplacian_row(W, before, k) if W is not None else 0.0)
                for index, weight in c_plan[t][k]:
                    x, y = data[k]["x"][index], data[k]["y"][index]
                    g = reference.loss_and_gradients(theta, C[k], x, y, weight, **how)[2]
                    C[k] = reference.mirror_step(
                        C[k], (p[k] if c_scale == "paper" else 1.0) * g + pull, lr_c[t]
                    )
        if schedule == "alternate" or blocks[t] == "theta":
            moved = {}
            for k in participants[t]:
                moved[k] = reference.copy_theta(theta)
                for index, weight in plan[t][k]:
                    x, y = data[k]["x"][index], data[k]["y"][index]
                    g = reference.loss_and_gradients(moved[k], C[k], x, y, weight, **how)[1]
                    moved[k] = reference.theta_step(moved[k], g, lr[t])
            share = sum(p[k] for k in moved)
            theta = reference.theta_combine(list(moved.values()), [p[k] / share for k in moved])
        history.append(
            {
                "server": {
                    "theta": reference.copy_theta(theta),
                    "C": {k: c.copy() for k, c in C.items()},
                }
            }
        )
    return history


def check(
    run,
    theirs,
    W,
    *,
    structure=1,
    lam=LAM,
    family="categorical",
    schedule="alternate",
    weights="samples",
    **_,
):
    kind = {"categorical": "softmax", "gaussian": "linear", "bernoulli": "logistic"}.get(
        family, family
    )
    total = sum(size(client) for client in run.data.values())
    before = np.full((len(run.data), MODELS), 1 / MODELS)
    for t, (moment, other) in enumerate(zip(run.moments, theirs, strict=True)):
        theta, C = other["server"]["theta"], np.array(list(other["server"]["C"].values()))
        agree("ppfl", moment.state["memberships"], C)
        for name, value in moment.state["theta"].items():
            stacked = name in theta["canonical"][0]
            agree(
                "ppfl",
                value,
                [m[name] for m in theta["canonical"]] if stacked else theta["com"][name],
            )
        for k, down in moment.down.items():
            pull = lam * (
                reference.laplacian_row(W, before, k) if W is not None else np.zeros(MODELS)
            )
            agree("ppfl", down["coefficients"], {"pull": pull, "membership": before[k]})
            agree("ppfl", moment.own[k]["membership"], C[k])
            both = {"parameters", "coefficients"}
            block = {"theta": {"parameters"}, "c": {"coefficients"}}[blocks(0.5)[t]]
            assert set(moment.up[k]) == (both if schedule == "alternate" else block)
            share = size(run.data[k]) / total if weights == "samples" else 1 / len(run.data)
            assert down["control"]["share"] == pytest.approx(share)
        for k, client in run.data.items():
            loss, hits = score(theta, C[k], client["x_test"], client["y_test"], structure, kind)
            agree_scores("ppfl", moment, k, "test", loss, hits)
        before = C


def score(theta, c, x, y, structure, kind):
    out = reference.forward(theta, c, x, structure, "model", kind)
    even = np.full(len(y), 1 / len(y))
    loss = reference.output_loss(out, y, even, kind)[0]
    if kind == "softmax":
        assert loss == pytest.approx(cross_entropy_of_logits(out, y, even))
        return loss, float(np.mean(np.argmax(out, 1) == y))
    return loss, float(np.mean((out[:, 0] > 0.5) == y)) if kind == "logistic" else np.nan


GRID = list(
    product(
        (1, 2),
        ("alternate", "random"),
        ("full", "batches"),
        ("client", "paper"),
        ("samples", "uniform"),
    )
)


@pytest.mark.certifies("ppfl", "reference")
@pytest.mark.parametrize(
    ("number", "combination"), list(enumerate(GRID)), ids=["-".join(map(str, c)) for c in GRID]
)
def test_ppfl(number, combination):
    names = ("structure", "schedule", "membership_steps", "membership_scale", "weights")
    hyper = dict(zip(names, combination, strict=True))
    # the four shapes and the two kinds of work in turn, so that every value above meets every shape
    # and kind
    kind, canonical, parts = list(SHAPES.values())[(number + number // 4) % 4]
    work = list(WORK.values())[(number // 2 + number // 16) % 2]
    run = federated(kind, canonical, work, **hyper)
    check(run, replay(run, parts, **hyper), matrix(run, "label_cosine"), **hyper)


@pytest.mark.certifies("ppfl", "reference")
@pytest.mark.parametrize("schedule", ["alternate", "random"])
@pytest.mark.parametrize(("structure", "scale"), [(1, "client"), (2, "paper")])
def test_several_full_steps_on_memberships(schedule, structure, scale):
    """Three mirror steps a round, some clients away, beside several local steps on θ."""
    hyper = {
        "schedule": schedule,
        "structure": structure,
        "membership_scale": scale,
        "membership_steps": 3,
    }
    run = federated("mlr", "all", WORK["some, decay"], **hyper)
    check(run, replay(run, None, **hyper), matrix(run, "label_cosine"), **hyper)
    with pytest.raises(FedkinError, match=r"method\.membership_steps of ppfl: "):
        ppfl(lr=LR, membership_steps=0)


W = [[0, 2, 0.5, 0, 1], [2, 0, 0, 0, 0], [0.5, 0, 0, 1, 0], [0, 0, 1, 0, 3], [1, 0, 0, 3, 0]]


@pytest.mark.certifies("ppfl", "reference")
@pytest.mark.parametrize(
    ("affinity", "lam"), [("none", 0.5), (W, 0.05), ("label_cosine", 0.0), ("label_cosine", 0.6)]
)
@pytest.mark.parametrize("shape", [SHAPES["mlr, all"], SHAPES["dnn, last layer"]])
def test_affinities(affinity, lam, shape):
    kind, canonical, parts = shape
    hyper = {"affinity": affinity, "lam": lam}
    run = federated(kind, canonical, {"steps": 2, "participation": 0.8}, **hyper)
    check(run, replay(run, parts, **hyper), matrix(run, affinity), lam=lam)


@pytest.mark.certifies("ppfl", "reference")
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("structure", [1, 2])
@pytest.mark.parametrize("steps", ["full", "batches"])
def test_generalized_linear_models(family, structure, steps):
    hyper = {
        "family": family,
        "structure": structure,
        "membership_steps": steps,
        "affinity": W,
        "lam": 0.05,
    }
    run = federated(
        "glm", "all", {"epochs": 2, "compile": "trace" if structure == 1 else "never"}, **hyper
    )
    check(run, replay(run, None, **hyper), np.array(W), **hyper)


@pytest.mark.certifies("ppfl", "reference")
@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_mixed_logits_of_a_linear_model_are_structure_2(family):
    """Σ c_k xθ_k = x Σ c_k θ_k: mixing = "logits" with structure 1 is the reference's structure 2
    (eq. 12).
    """
    how = {"family": family, "affinity": W, "lam": 0.05}
    run = federated("glm", "all", {"epochs": 2}, structure=1, mixing="logits", **how)
    check(run, replay(run, None, structure=2, **how), np.array(W), structure=2, **how)
    with pytest.raises(
        FedkinError, match=r"method\.mixing of ppfl: .*'means' or 'logits', not 'logit'"
    ):
        ppfl(lr=LR, mixing="logit")


@pytest.mark.parametrize("affinity", [[[0, 1], [2, 0]], [[0, -1], [-1, 0]], [[0, 1], [1]]], ids=str)
def test_an_affinity_is_of_a_graph(affinity):
    """λ Cᵀ L C is a penalty, and its slope 2λ L C, for a symmetric W without negative weights."""
    with pytest.raises(FedkinError, match=r"method\.affinity of ppfl: "):
        ppfl(lr=LR, affinity=affinity)


@pytest.mark.certifies("ppfl", "reference")
def test_label_cosine_of_a_generalized_linear_model():
    """Two classes have histograms; numbers have none, and are refused."""
    run = federated("glm", "all", {"steps": 1}, family="bernoulli")
    check(
        run, replay(run, None, family="bernoulli"), matrix(run, "label_cosine"), family="bernoulli"
    )
    with pytest.raises(FedkinError, match=r"have no histogram: set method\.affinity"):
        federated("glm", "all", {"steps": 1}, family="gaussian")


@pytest.mark.certifies("ppfl", "reference")
def test_the_laplacian_matters():
    """Without it memberships end elsewhere, by far more than the tolerance: the comparisons would
    see it.
    """
    ends = [
        federated("mlr", "all", {"steps": 2}, lam=lam).moments[-1].state["memberships"]
        for lam in (0.0, LAM)
    ]
    assert np.abs(ends[0] - ends[1]).max() > 1e-2


@pytest.mark.certifies("ppfl", "reference")
def test_both_blocks_are_drawn():
    assert set(blocks(0.5)) == {"theta", "c"}
    always = federated("mlr", "all", {"steps": 1}, schedule="random", theta_share=1.0)
    assert all(set(up) == {"parameters"} for moment in always.moments for up in moment.up.values())


@pytest.mark.certifies("ppfl", "reference")
@pytest.mark.parametrize("structure", [1, 2])
def test_full_gradients_and_scores_in_parts(monkeypatch, structure):
    """Whole splits are read in large batches: with "large" set to 3 rows, several of them must add
    up to the same.
    """
    monkeypatch.setattr("fedkin.engine.evaluation.LARGE", 3)
    run = federated("mlr", "all", {"steps": 1}, structure=structure)
    check(
        run,
        replay(run, None, structure=structure),
        matrix(run, "label_cosine"),
        structure=structure,
    )
