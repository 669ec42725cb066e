"""PPFL beside its authors' code."""

import numpy as np
import pytest
import torch

from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.core.tree import row
from fedkin.methods.ppfl import MEMBERSHIP, THETA, ppfl
from fedkin.transforms.kept_optimizer import keep_optimizer
from tests.golden.recorded import Replay, linear, perceptron

ROUNDS = 3
MODELS = {"ppfl_binary": lambda: linear(1, family="bernoulli"), "ppfl_mlp": perceptron}


SHIPPED = Optimizer(momentum=0.9, weight_decay=5e-4)


def theirs_alone(state, similarity):
    """L with half of their row sums, and no W."""
    degree = similarity.sum(1) / 2
    laplacian = {"degree": degree, "unit": degree.new_zeros(len(degree), 0)}
    sums = torch.zeros(0, 3, dtype=torch.float64)
    return {**state, "laplacian": laplacian, "sums": sums}


def replayed(v, structure, penalty="theirs", optimizer=PLAIN, **hyper):
    """Their round is a θ-block and then a c-block: two rounds of schedule "random", block 0 and
    block 1.

    ``penalty``: their gradient has λ · diag(row sums of W) c_i; ours 2λ(Lc)_i, so that L is told as
    half of theirs. ``optimizer``: of θ; its momentum outlasts the round, as theirs does.
    """
    trace = v.trace
    model = MODELS.get(trace.name, linear)()
    similarity = torch.from_numpy(trace.array("similarity", 4, 4))
    method = ppfl(
        lr=trace.number("lr"),
        models=3,
        structure=structure,
        schedule="random",
        lam=trace.number("lam"),
        membership_lr=trace.number("membership_lr"),
        membership_steps="batches",
        affinity=similarity.tolist(),
        weights="uniform",
        **hyper,
    )
    tables = {
        "batches": trace.batches("theta_batches", ROUNDS),
        "membership": trace.batches("membership_batches", ROUNDS),
    }
    kept = keep_optimizer(method)
    replay = Replay(kept, trace, model, several=3, tables=tables, optimizer=optimizer)
    if penalty == "theirs":
        replay.state = theirs_alone(replay.state, similarity)
    local = trace.tree("local", model.initial, ROUNDS, 4, 3)
    theta = trace.tree("theta", model.initial, ROUNDS, 3)
    membership = torch.from_numpy(trace.array("membership", ROUNDS, 4, 3))
    for t in range(ROUNDS):
        replay.state = {**replay.state, "block": THETA}
        moment = replay.round(t)
        for k, up in moment.up.items():
            v.compare("trained models", up["parameters"], row(row(local, t), k))
        v.compare("canonical models", moment.state["theta"], row(theta, t))
        replay.state = {**replay.state, "block": MEMBERSHIP}
        v.compare("memberships", replay.round(t).state["memberships"], membership[t])


@pytest.mark.certifies("ppfl", "golden")
@pytest.mark.parametrize(
    ("file", "structure"),
    [("ppfl_linear", 1), ("ppfl_linear", 2), ("ppfl_mlp", 2), ("ppfl_binary", 2)],
)
def test_ppfl(verdict, file, structure):
    v = verdict(file, f"structure {structure}, the penalty as they code it")
    replayed(v, structure)
    v.agrees()


@pytest.mark.certifies("ppfl", "golden")
def test_ppfl_that_mixes_logits(verdict):
    v = verdict("ppfl_binary", "structure 1, mixing logits, the penalty as they code it")
    replayed(v, 1, mixing="logits")
    v.agrees()


@pytest.mark.certifies("ppfl", "golden")
@pytest.mark.parametrize(
    ("file", "optimizer"), [("ppfl_double_exp", PLAIN), ("ppfl_shipped", SHIPPED)]
)
def test_ppfl_with_their_mirror_step(verdict, monkeypatch, file, optimizer):
    """c ∘ exp(exp(−ηg)) in the place of ours: nothing else is different."""

    def theirs(c, direction, rate):
        moved = c * torch.exp(torch.exp(-rate * direction))
        return moved / moved.sum()

    monkeypatch.setattr("fedkin.methods.parts.ppfl.mirror_steps.simplex_step", theirs)
    how = "structure 1, their penalty, their mirror step in the place of ours"
    v = verdict(file, how + (", [train] as theirs" if optimizer != PLAIN else ""))
    replayed(v, 1, optimizer=optimizer)
    v.agrees()


@pytest.mark.certifies("ppfl", "golden")
def test_ppfl_alternating(verdict):
    """Algorithm 3 moves c and then θ: their sequence, half a round apart."""
    v = verdict(
        "ppfl_linear", "schedule alternate, half a round apart, the penalty as they code it"
    )
    trace, model = v.trace, linear()
    theta, membership = (
        trace.batches(f"{name}_batches", ROUNDS) for name in ("theta", "membership")
    )
    nothing = np.full_like(membership[:1], -1)  # their first round has no c of the round before
    tables = {"batches": theta, "membership": np.concatenate([nothing, membership[:-1]])}
    similarity = torch.from_numpy(trace.array("similarity", 4, 4))
    rates = {name: trace.number(name) for name in ("lr", "lam", "membership_lr")}
    method = ppfl(
        **rates,
        models=3,
        membership_steps="batches",
        affinity=similarity.tolist(),
        weights="uniform",
    )
    replay = Replay(method, trace, model, several=3, tables=tables)
    replay.state = theirs_alone(replay.state, similarity)
    models = trace.tree("theta", model.initial, ROUNDS, 3)
    told = torch.from_numpy(trace.array("membership", ROUNDS, 4, 3))
    for t in range(ROUNDS):
        moment = replay.round(t)
        v.compare("canonical models", moment.state["theta"], row(models, t))
        if t:
            v.compare("memberships", moment.state["memberships"], told[t - 1])
    v.leaves("local", "half a round apart, clients train from other memberships")
    v.agrees()


@pytest.mark.certifies("ppfl", "golden")
@pytest.mark.parametrize(
    ("file", "why", "figures"),
    [
        (
            "ppfl_linear",
            "theirs is λ · diag(row sums of W) C; the paper's 2λ L C, L = D − W",
            (1.43e-3, 4.99e-4, 0.0211),
        ),
        ("ppfl_mlp", "theirs mixes after every layer, which is structure 2", (0.428, 0.156, 0.562)),
        ("ppfl_binary", "theirs mixes logits, eq. 11 means", (0.0448, 0.0197, 0.03)),
        (
            "ppfl_double_exp",
            "theirs moves c by c ∘ exp(exp(−ηg)); eq. 24 is c ∘ exp(−ηg)",
            (0.0114, 2.15e-3, 0.0315),
        ),
        (
            "ppfl_shipped",
            "theirs moves c by c ∘ exp(exp(−ηg)); eq. 24 is c ∘ exp(−ηg)",
            (0.0165, 3.957e-03, 3.602e-02),
        ),
    ],
)
def test_ppfl_deviations(verdict, file, why, figures):
    """Structure 1, with the penalty as they code it but in the first, the optimizer in the last."""
    v = verdict(file, "structure 1" + (", the paper's penalty" if file == "ppfl_linear" else ""))
    optimizer = SHIPPED if file == "ppfl_shipped" else PLAIN
    replayed(v, 1, "ours" if file == "ppfl_linear" else "theirs", optimizer)
    for what, figure in zip(
        ("trained models", "canonical models", "memberships"), figures, strict=True
    ):
        v.deviates(what, why, figure)
