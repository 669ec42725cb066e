"""Laws and closed forms of the public-set methods: feddf, ds_fl, fedmd, kt_pfl."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.aggregation import Reply
from fedkin.core.family import BERNOULLI
from fedkin.core.method import ClientInfo, FederationInit, updated
from fedkin.core.model import from_module
from fedkin.core.rng import Key
from fedkin.methods import make
from fedkin.methods.kt_pfl import disagreement, project
from fedkin.methods.parts.codistillation import codistil
from tests.laws.small import HYPER, LR, PUBLIC, SIZES, close, federated, method, people, same
from tests.methods.federation import WIDTH, Federated, architecture, arrays, population

ROUNDS = 4
WORK = {
    "all": {"epochs": 2},
    "some": {"epochs": 1, "participation": 0.6},
    "decay": {"epochs": 1, "milestones": (1,)},
}
works = pytest.mark.parametrize("work", WORK.values(), ids=WORK)
NAMES = ("comet", "ds_fl", "feddf", "fedmd", "kt_pfl")


# --- reductions


@pytest.mark.certifies("feddf", "law")
@works
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_feddf_without_distillation_is_fedavg(kind, work):
    """0 distillation steps: the same models, bit by bit."""
    feddf = federated("feddf", hyper={"distill_steps": 0}, kind=kind, **work).run(
        ROUNDS, evaluate=False
    )
    fedavg = federated("fedavg", kind=kind, **work).run(ROUNDS, evaluate=False)
    for a, b in zip(feddf.moments, fedavg.moments, strict=True):
        assert same(a.state["parameters"][kind], b.state["parameters"])


@pytest.mark.certifies("feddf", "law")
def test_feddf_of_one_participant_is_fedavg():
    """A model that is its own teacher stays where it is."""
    work = {"steps": 3, "participation": 0.1}
    feddf, fedavg = (
        federated(name, **work).run(ROUNDS, evaluate=False) for name in ("feddf", "fedavg")
    )
    for a, b in zip(feddf.moments, fedavg.moments, strict=True):
        close(a.state["parameters"]["mlr"], b.state["parameters"], 1e-12)


@pytest.mark.certifies("feddf", "law")
def test_feddf_means_are_weighted_by_samples():
    """Without distillation a reply of weight 0 changes nothing; in the mean of logits every model
    counts alike.
    """
    run = federated("feddf").run(1)
    replies = {
        k: Reply(run.tape.answers["local"][k], float(run.infos[k].samples)) for k in run.infos
    }
    odd = {
        **replies,
        2: Reply(
            {"parameters": {n: x + 9.0 for n, x in replies[2].message["parameters"].items()}}, 0.0
        ),
    }
    tools = replace(run.coordinator.federation.tools, key=Key(run.seed, 1))
    kept = {k: reply for k, reply in replies.items() if k != 2}
    state = run.coordinator.state
    plain = method("feddf", distill_steps=0)
    merged = [arrays(updated(plain, state, some, tools)["parameters"]) for some in (odd, kept)]
    close(merged[0], merged[1], 1e-12)


@pytest.mark.certifies("law")
@works
@pytest.mark.parametrize(
    ("name", "rate"), [("ds_fl", "distill_lr"), ("kt_pfl", "distill_lr"), ("fedmd", "public_lr")]
)
def test_without_a_step_towards_others_is_local(name, rate, work):
    """A learning rate of 0 on the public set leaves private training."""
    run = federated(name, hyper={rate: 0.0}, **work).run(ROUNDS, evaluate=False)
    local = federated("local", **(work if name != "fedmd" else {**work, "participation": 1.0}))
    local.run(ROUNDS, evaluate=False)
    for a, b in zip(run.moments, local.moments, strict=True):
        close(
            {k: own["parameters"] for k, own in a.own.items()},
            {k: own["parameters"] for k, own in b.own.items()},
        )


@pytest.mark.certifies("kt_pfl", "law")
@works
@pytest.mark.parametrize("still", [{"kappa_lr": 0.0}, {"lam": 0.0}])
def test_kt_pfl_with_fixed_knowledge_is_mean_co_distillation(still, work):
    """κ = 1/M fixed, at full participation: everybody's team is the mean of all predictions."""
    work = {**work, "participation": 1.0}
    run = federated("kt_pfl", hyper=still, **work).run(ROUNDS, evaluate=False)
    hyper = {"distill_lr": LR, "distill_steps": 3, "public_batch": PUBLIC, "temperature": 1.0}
    models = {"mlr": architecture()}
    mean = Federated(codistil(lr=LR, **hyper), people(), models, **work).run(ROUNDS, evaluate=False)
    for a, b in zip(run.moments, mean.moments, strict=True):
        np.testing.assert_allclose(a.state["knowledge"], 1 / len(SIZES), atol=1e-12)
        close(a.own, b.own)
        for k, up in a.up.items():
            close(up, b.up[k])
            close(a.state["teams"][k], b.state["predictions"])


# --- the simplex, and who is in a team


@pytest.mark.certifies("kt_pfl", "law")
@pytest.mark.parametrize("kappa_lr", [0.1, 5.0, 5000.0])
@pytest.mark.parametrize("participation", [1.0, 0.5])
def test_knowledge_stays_on_the_simplex(kappa_lr, participation):
    run = federated("kt_pfl", hyper={"kappa_lr": kappa_lr}, participation=participation).run(ROUNDS)
    kappa = np.array([moment.state["knowledge"] for moment in run.moments])
    np.testing.assert_allclose(kappa.sum(-1), 1.0, atol=1e-12)
    assert kappa.min() >= 0
    teams = run.moments[-1].state["teams"]
    np.testing.assert_allclose(teams.sum(-1), 1.0, atol=1e-12)
    assert teams.min() >= 0


@pytest.mark.certifies("kt_pfl", "law")
def test_who_was_never_seen_is_in_no_team():
    """Its coefficients wait at 1/M, its own team is the mean of those seen; who was seen once stays
    in.
    """
    run = federated(
        "kt_pfl", hyper={"kappa_lr": 5.0, "rho": 0.01}, participation=0.34, seed=11
    ).run(3, evaluate=False)
    m, seen = len(SIZES), set()
    for moment in run.moments:
        seen |= set(moment.record.participants)
        state, kappa = moment.state, moment.state["knowledge"]
        assert set(np.flatnonzero(state["known"])) == seen
        for k in set(range(m)) - seen:
            np.testing.assert_allclose(kappa[k], 1 / m)
            np.testing.assert_allclose(kappa[:, k], 1 / m)
            np.testing.assert_allclose(
                state["teams"][k], np.mean([state["predictions"][j] for j in seen], axis=0)
            )
        for k in seen:
            team = (
                sum(kappa[k, j] * state["predictions"][j] for j in seen)
                / kappa[k, sorted(seen)].sum()
            )
            np.testing.assert_allclose(state["teams"][k], team)
    assert 2 < len(seen) < m


@pytest.mark.certifies("kt_pfl", "law")
def test_knowledge_follows_the_numbers_of_clients():
    """Client i becomes client 5 − i: κ turns in rows and columns, and is larger within the two
    groups than across.
    """
    plain = people(groups=2)
    turned = replace(
        plain, **{split: plain.rows(split)[::-1] for split in ("train", "val", "test")}
    )
    work = {"batch_size": 16, "epochs": 3, "hyper": {"kappa_lr": 0.3}}
    kappa, other = (
        federated("kt_pfl", group=group, **work)
        .run(ROUNDS, evaluate=False)
        .moments[-1]
        .state["knowledge"]
        for group in (plain, turned)
    )
    np.testing.assert_allclose(kappa, other[::-1, ::-1], atol=1e-9)
    alike = np.equal.outer(np.arange(len(SIZES)) % 2, np.arange(len(SIZES)) % 2)
    np.fill_diagonal(alike, False)
    assert kappa[alike].mean() > kappa[~alike & ~np.eye(len(SIZES), dtype=bool)].mean()


@pytest.mark.certifies("fedmd", "law")
def test_a_client_that_joins_late_transfers_first():
    """Its first round is transfer learning, whatever consensus it received: the consensus changes
    nothing yet.
    """
    run = federated("fedmd").run(2, evaluate=False)
    data, own = run.host.data(3, 1), run.method.client(run.models["mlr"].initial, run.infos[1])
    down = run.method.broadcast(run.coordinator.state, 1)
    other = {**down, "predictions": down["predictions"] + 3.0}
    first = [run.method.client_update(message, own, data) for message in (down, other)]
    assert same(arrays(first[0][0]), arrays(first[1][0]))
    second = [run.method.client_update(message, first[0][0], data) for message in (down, other)]
    assert not same(arrays(second[0][0]), arrays(second[1][0]))


# --- closed forms


def a_start(m, rows, classes):
    nothing = {"weight": torch.zeros((classes, 1), dtype=torch.float64)}
    return FederationInit(
        {"mlr": nothing},
        tuple(range(m)),
        rows,
        classes,
        lambda k: nothing,
        dict.fromkeys(range(m), "mlr"),
    )


def told(*tables):
    return {
        k: Reply({"predictions": torch.tensor(t, dtype=torch.float64)}, 1.0 + k)
        for k, t in enumerate(tables)
    }


@pytest.mark.certifies("ds_fl", "closed form")
def test_ds_fl_sharpens_the_mean():
    """Means (0.6, 0.4) and (0.5, 0.5), T = 0.1: odds e^(0.2 / 0.1) = e² and 1. Sizes do
    not count.
    """
    first, second = [[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.8, 0.2]]
    merged = updated(method("ds_fl"), {}, told(first, second), None)["predictions"]
    odds = np.exp(2.0)
    np.testing.assert_allclose(
        merged, [[odds / (1 + odds), 1 / (1 + odds)], [0.5, 0.5]], rtol=1e-12
    )


@pytest.mark.certifies("kt_pfl", "closed form")
def test_kt_pfl_step_of_two_by_hand():
    """One public row, z_0 = (0.8, 0.2), z_1 = (0.4, 0.6), κ = 1/2: teams (0.6, 0.4).

    Row 0: ∂/∂κ_00 − ∂/∂κ_01 = λ (0.4 log(0.6/0.8) − 0.4 log(0.4/0.2)) = −0.4 λ log(8/3), ρ's part
    being 0 at 1/2. On the simplex of two the first coefficient moves by half of −η times that: 0.2
    η λ log(8/3). Row 1 likewise: 0.4 λ (log(0.6/0.4) − log(0.4/0.6)) = 0.8 λ log(3/2), and κ_10
    moves by −0.4 η λ log(3/2).
    """
    chosen = method("kt_pfl", kappa_lr=0.5, lam=1.5)
    state = chosen.server(a_start(2, 1, 2))
    run = federated("kt_pfl")
    z = [[0.8, 0.2]], [[0.4, 0.6]]
    merged = updated(chosen, state, told(*z), run.coordinator.federation.tools)
    up, back = 0.2 * 0.75 * np.log(8 / 3), 0.4 * 0.75 * np.log(3 / 2)
    kappa = np.array([[0.5 + up, 0.5 - up], [0.5 - back, 0.5 + back]])
    np.testing.assert_allclose(merged["knowledge"], kappa, rtol=1e-12)
    np.testing.assert_allclose(
        merged["teams"], np.einsum("kj,jpc->kpc", kappa, np.array(z)), rtol=1e-12
    )
    # from there the gradient of ρ ‖κ_0 − 1/2‖² is 2ρ (up, −up): without λ one step takes ηρ·2·up
    # back
    again = updated(
        method("kt_pfl", kappa_lr=0.5, lam=0.0, rho=0.3),
        merged,
        told(*z),
        run.coordinator.federation.tools,
    )
    np.testing.assert_allclose(again["knowledge"][0, 0], 0.5 + up * (1 - 0.5 * 2 * 0.3), rtol=1e-12)


@pytest.mark.certifies("kt_pfl", "closed form")
def test_kt_pfl_gradient_is_the_derivative():
    """The closed form of ∂KL/∂κ is what automatic differentiation finds, up to the same number in a
    whole row.
    """
    generator = torch.Generator().manual_seed(0)
    z = torch.softmax(torch.randn((4, 5, 3), generator=generator, dtype=torch.float64), 2)
    kappa = torch.softmax(
        torch.randn((4, 4), generator=generator, dtype=torch.float64), 1
    ).requires_grad_()
    team = torch.einsum("kj,jpc->kpc", kappa, z)
    (team * (team.log() - z.log())).sum(2).mean(1).sum().backward()
    np.testing.assert_allclose(disagreement(kappa.detach(), z, z), kappa.grad - 1.0, rtol=1e-10)


@pytest.mark.certifies("kt_pfl", "closed form")
def test_projection_on_the_simplex():
    """(0.9, 0.5, −1): θ = 0.2 leaves (0.7, 0.3, 0). A shift of the row changes nothing, nor does a
    point on it move.
    """
    rows = torch.tensor([[0.9, 0.5, -1.0], [0.2, 0.3, 0.5], [7.0, 0.0, 0.0]], dtype=torch.float64)
    expected = [[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(project(rows), expected, atol=1e-12)
    np.testing.assert_allclose(project(rows + 41.0), expected, atol=1e-12)
    assert torch.equal(
        project(torch.tensor([[3e9, 1.0]])), torch.tensor([[1.0, 0.0]])
    )  # float32 keeps no unit there


@pytest.mark.certifies("fedmd", "closed form")
def test_fedmd_digests_by_signs():
    """Far from the consensus every logit moves against its sign: the bias by η / C a step, whatever
    the distance.
    """
    hyper = {**HYPER["fedmd"], "public_lr": 0.25, "digest_steps": 2}
    run = Federated(make("fedmd", hyper, {"lr": 1e-12}), people(), steps=1).run(
        1, evaluate=False
    )  # lr: does not show
    down, own = run.method.broadcast(run.coordinator.state, 0), run.host.personal_state(0)
    far = torch.tensor([100.0, -50.0, 30.0], dtype=torch.float64).expand_as(down["predictions"])
    moved = run.method.client_update({**down, "predictions": far}, own, run.host.data(2, 0))[0][
        "parameters"
    ]["bias"]
    np.testing.assert_allclose(
        (moved - own["parameters"]["bias"]).numpy(), [0.5 / 3, -0.5 / 3, 0.5 / 3], atol=1e-9
    )


@pytest.mark.certifies("fedmd", "closed form")
def test_fedmd_consensus_is_the_mean_of_scores():
    """Scores 2 and −4 of clients of sizes 1 and 2: −1. The rows they are of are those that were
    asked for.
    """
    run = federated("fedmd")
    state = run.coordinator.state
    merged = updated(
        run.method, state, told([[2.0, 0.0]], [[-4.0, 1.0]]), run.coordinator.federation.tools
    )
    np.testing.assert_allclose(merged["predictions"], [[-1.0, 0.5]])
    assert torch.equal(merged["digest"], state["rows"])


@pytest.mark.certifies("feddf", "closed form")
def test_feddf_step_towards_the_mean_of_logits():
    """Two models of constant logits (2, 0) and (0, 1), weights 3 : 1: the mean has bias (1.5,
    0.25), the teacher is σ(1, 0.5), the mean of LOGITS unweighted. One step moves the bias by η
    (teacher − σ(1.5, 0.25)).
    """
    group = population((6, 2), classes=2, public=4)
    chosen = method("feddf", distill_steps=1, distill_lr=0.5)
    run = Federated(chosen, group, {"mlr": architecture(classes=2)}, steps=1)
    nothing = torch.zeros((2, WIDTH), dtype=torch.float64)
    replies = {
        k: Reply(
            {"parameters": {"weight": nothing, "bias": torch.tensor(b, dtype=torch.float64)}}, n
        )
        for k, b, n in ((0, [2.0, 0.0], 3.0), (1, [0.0, 1.0], 1.0))
    }
    merged = updated(chosen, run.coordinator.state, replies, run.coordinator.federation.tools)[
        "parameters"
    ]["mlr"]
    step = 0.5 * (1 / (1 + np.exp(0.5 - 1.0)) - 1 / (1 + np.exp(0.25 - 1.5)))
    np.testing.assert_allclose(merged["bias"], [1.5 + step, 0.25 - step], rtol=1e-12)


# --- any model


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
def test_two_classes_by_one_logit(name):
    """A logistic model among softmax ones: its predictions are of two classes, and it learns from
    theirs.
    """
    group = population(SIZES, classes=1, family="bernoulli", public=PUBLIC)
    group = replace(group, public_y=torch.arange(PUBLIC) % 2)
    models = {"one": architecture("mlr", family=BERNOULLI), "two": architecture("dnn", classes=2)}
    run = Federated(method(name), group, models, architectures=["one", "two"] * 3, steps=2).run(3)
    for moment in run.moments:
        for up in moment.up.values():
            if name != "feddf":
                assert up["predictions"].shape[1] == 2
        for scores in moment.record.scores.values():
            assert np.isfinite(scores["personal"]["test"]).all()


class OneLogit(nn.Module):
    """A logistic model as a softmax one: logits (0, η), with the same parameters."""

    def __init__(self, base: nn.Module):
        super().__init__()
        self.weight, self.bias = base.weight, base.bias

    def forward(self, x):
        eta = nn.functional.linear(x, self.weight, self.bias)
        return torch.cat([torch.zeros_like(eta), eta], 1)


@pytest.mark.certifies("law")
@pytest.mark.parametrize(
    ("name", "hyper"),
    [
        *((name, {}) for name in NAMES if name != "fedmd"),  # it matches logits, which are others
        *(("persfl", {"objective": objective}) for objective in ("kl", "reverse_kl", "gd")),
    ],
)
def test_one_logit_is_the_softmax_of_it_and_nought(name, hyper):
    """The same models, whatever the temperature: what is distilled of one logit is of two
    classes.
    """
    group = population(SIZES, classes=1, family="bernoulli", public=PUBLIC)
    base = nn.Linear(WIDTH, 1).to(torch.float64)
    models = from_module("m", base, BERNOULLI), from_module("m", OneLogit(base))
    if name == "persfl":
        hyper = {"lams": (0.5,), "temperatures": (5.0,), **hyper}
    ends = []
    for model in models:
        run = Federated(method(name, **hyper), group, {"m": model}, steps=3).run(2)
        end = run.finish() if name == "persfl" else run.moments[-1]
        state = {k: v for k, v in end.state.items() if k == "parameters"}
        ends.append({"server": state, "own": end.own})
    close(*ends)


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
def test_running_statistics_are_refreshed(name):
    """With batch norm the public set moves the statistics too, at the server (feddf) as at the
    clients.
    """
    torch.manual_seed(0)
    layers = nn.Linear(WIDTH, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)
    model = from_module("norm", nn.Sequential(*layers).to(torch.float64))
    run = Federated(method(name), people(), {"norm": model}, steps=2).run(3)
    states = [
        m.state["parameters"]["norm"] if name == "feddf" else m.own[0]["parameters"]
        for m in run.moments
    ]
    assert all(np.isfinite(value).all() for state in states for value in state.values())
    for before, after in pairwise(states):
        assert not np.array_equal(before["buffer:1.running_mean"], after["buffer:1.running_mean"])
    if name == "feddf":
        plain = Federated(method(name, distill_steps=0), people(), {"norm": model}, steps=2).run(1)
        untouched = plain.moments[0].state["parameters"]["norm"]["buffer:1.running_mean"]
        assert not np.array_equal(states[0]["buffer:1.running_mean"], untouched)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_reply_must_be(name):
    """``expects`` names the shape and the dtype of the models."""
    run = federated(name)
    info = ClientInfo(0, "mlr", 5, torch.zeros(3), PUBLIC, 3)
    wanted = run.method.expected_update(run.method.broadcast(run.coordinator.state, 0), info)
    if name != "feddf":
        assert wanted["predictions"].shape == (5 if name == "fedmd" else PUBLIC, 3)
        assert wanted["predictions"].dtype == torch.float64
