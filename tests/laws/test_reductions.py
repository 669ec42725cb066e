"""One method at the edge of its hyper-parameters is another one."""

import numpy as np
import pytest
import torch

from tests.laws.small import ENVELOPE, LR, close, federated, finished, same
from tests.methods.federation import arrays
from tests.reference import comet as comet_reference
from tests.reference.local_fedavg import train
from tests.reference.model import combine, copy, step

ROUNDS = 4
WORK = {
    "all": {"epochs": 2},
    "some": {"epochs": 1, "participation": 0.6},
    "decay": {"epochs": 1, "milestones": (1,)},
}


@pytest.mark.certifies("comet", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_comet_without_pull_is_local(kind, work):
    """λ = 0: every client that takes part trains as if alone (epochs: both run through the same
    permutations).
    """
    comet = federated("comet", hyper={"lam": 0.0}, kind=kind, **work).run(ROUNDS, evaluate=False)
    local = federated("local", kind=kind, **work)
    theirs = comet.coordinator.schedule.participants  # comet draws by size, local uniformly
    local.coordinator.schedule = local.coordinator.schedule._replace(participants=theirs)
    local.run(ROUNDS, evaluate=False)
    for a, b in zip(comet.moments, local.moments, strict=True):
        close(
            {k: own["parameters"] for k, own in a.own.items()},
            {k: own["parameters"] for k, own in b.own.items()},
        )


@pytest.mark.certifies("comet", "law")
@pytest.mark.parametrize("participation", [1.0, 0.6])
def test_comet_with_one_cluster_is_plain_co_distillation(participation):
    """c = 1: everybody is drawn to the mean of the last predictions. Here without any
    clustering.
    """
    size, lam = 5, 2.0
    hyper = {"clusters": 1, "lam": lam, "public_batch": size}
    run = federated("comet", hyper=hyper, steps=3, participation=participation).run(
        ROUNDS, evaluate=False
    )
    public, data = run.people.public.numpy(), run.data
    models = {k: arrays(run.models["mlr"].initial) for k in data}
    mean = np.mean(
        [
            comet_reference.predictions(models[k], public)
            for k in run.coordinator.schedule.participants(0)
        ],
        axis=0,
    )
    for t, moment in enumerate(run.moments, 1):
        sent = []
        for k in run.coordinator.schedule.participants(t):
            rows = run.public_rows(t, k, size, 3)
            for batch, seen in zip(run.batches(t, k, draw="uniform"), rows, strict=True):
                pulled = comet_reference.distillation_gradient(
                    models[k], public[seen], mean[seen], lam
                )
                models[k] = step(
                    train(models[k], data[k], [batch], LR), pulled, LR
                )  # both gradients taken at w
            sent.append(comet_reference.predictions(models[k], public))
        mean = np.mean(sent, axis=0)
        close(moment.state["centroids"][0], mean)
        close({k: own["parameters"] for k, own in moment.own.items()}, models)


@pytest.mark.certifies("cgpfl", "pfedme", "law")
@pytest.mark.parametrize("beta", [1.0, 0.5])
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_cgpfl_with_one_cluster_is_pfedme(work, beta):
    cgpfl = federated("cgpfl", hyper={**ENVELOPE, "clusters": 1, "alpha": beta}, **work).run(
        ROUNDS, evaluate=False
    )
    pfedme = federated("pfedme", hyper={**ENVELOPE, "beta": beta}, **work).run(
        ROUNDS, evaluate=False
    )
    # one sums message by message in float64, the other exactly: in float32 both have the same bits
    for a, b in zip(cgpfl.moments, pfedme.moments, strict=True):
        close(a.state["models"], b.state["models"], 1e-14)
        close(a.own, b.own, 1e-14)


@pytest.mark.certifies("cgpfl_heur", "law")
def test_cgpfl_heur_at_a_price_too_high_is_pfedme():
    """μ = 0: distances do not count, the price of clusters does: K = 1."""
    heur = federated("cgpfl_heur", hyper={"mu": 0.0, "alpha": 0.5}, participation=0.7).run(
        ROUNDS, evaluate=False
    )
    pfedme = federated("pfedme", hyper={"beta": 0.5}, participation=0.7).run(ROUNDS, evaluate=False)
    # one sums message by message in float64, the other exactly: in float32 both have the same bits
    for a, b in zip(heur.moments, pfedme.moments, strict=True):
        close(a.state["models"], b.state["models"], 1e-14)
        close(a.own, b.own, 1e-14)


@pytest.mark.certifies("cgpfl", "law")
def test_cgpfl_without_pull_is_local_training_of_theta():
    """λ = 0, S = 1: θ takes plain SGD steps of size personal_lr, and ω does not move."""
    hyper = {"lam": 0.0, "inner": 1, "personal_lr": LR, "clusters": 2}
    cgpfl = federated("cgpfl", hyper=hyper, epochs=1).run(ROUNDS, evaluate=False)
    local = federated("local", epochs=1).run(ROUNDS, evaluate=False)
    first = arrays(cgpfl.models["mlr"].initial)
    for a, b in zip(cgpfl.moments, local.moments, strict=True):
        close(
            {k: own["theta"] for k, own in a.own.items()},
            {k: own["parameters"] for k, own in b.own.items()},
        )
        close({n: v[0] for n, v in a.state["models"].items()}, first)


@pytest.mark.certifies("ppfl", "law")
@pytest.mark.parametrize("structure", [1, 2])
@pytest.mark.parametrize(("schedule", "share"), [("alternate", 0.5), ("random", 1.0)])
@pytest.mark.parametrize(("kind", "canonical"), [("mlr", "all"), ("dnn", "out."), ("dnn", "all")])
def test_ppfl_with_one_canonical_model_is_fedavg(kind, canonical, schedule, share, structure):
    """K = 1: c_i = (1), whatever λ: θ_com and the one canonical model are FedAvg's."""
    hyper = {
        "models": 1,
        "canonical": canonical,
        "schedule": schedule,
        "theta_share": share,
        "structure": structure,
    }
    work = {"epochs": 1, "participation": 0.6, "milestones": (2,)}
    ppfl = federated("ppfl", hyper=hyper, kind=kind, **work).run(ROUNDS)
    fedavg = federated("fedavg", kind=kind, **work).run(ROUNDS)
    for a, b in zip(ppfl.moments, fedavg.moments, strict=True):
        theta = {
            n: v[0] if canonical == "all" or n.startswith(canonical) else v
            for n, v in a.state["theta"].items()
        }
        close(theta, b.state["parameters"])
        close(a.state["memberships"], np.ones((6, 1)))
        for k in b.record.scores:
            close(a.record.scores[k]["personal"], b.record.scores[k]["personal"])


@pytest.mark.certifies("ppfl", "law")
def test_ppfl_one_hot_is_clustered_federated_learning():
    """One-hot c_i that stay (no step on c), λ = 0: canonical model k moves to the mean of its own
    clients' models, by its clients' share P_k of all samples; the others do not touch it. The floor
    of 1e-6 is the tolerance.
    """
    groups = {0: [0, 3, 5], 1: [1, 2, 4]}
    ppfl = federated(
        "ppfl", hyper={"models": 2, "lam": 0.0, "membership_lr": 0.0}, epochs=1
    ).setup()
    one_hot = torch.tensor(
        [[1.0, 0.0] if k in groups[0] else [0.0, 1.0] for k in range(6)], dtype=torch.float64
    )
    ppfl.coordinator.state = {**ppfl.coordinator.state, "memberships": one_hot}
    models = [
        {n: v[j] for n, v in arrays(ppfl.coordinator.state["theta"]).items()} for j in range(2)
    ]
    sizes = {k: info.samples for k, info in ppfl.infos.items()}
    for t, moment in enumerate(ppfl.run(3, evaluate=False).moments, 1):
        for j, members in groups.items():
            trained = [train(models[j], ppfl.data[k], ppfl.batches(t, k), LR) for k in members]
            share = sum(sizes[k] for k in members) / sum(sizes.values())
            moved = combine(trained, [sizes[k] / sum(sizes.values()) for k in members])
            models[j] = combine([models[j], moved], [1 - share, 1.0])
            close({n: v[j] for n, v in moment.state["theta"].items()}, models[j], 1e-4)


@pytest.mark.certifies("ppfl", "law")
def test_ppfl_without_laplacian_is_decoupled():
    """λ = 0: who resembles whom does not matter; λ > 0: it does."""
    ends = {}
    for lam in (0.0, 0.3):
        for affinity in ("none", "label_cosine"):
            run = federated("ppfl", hyper={"lam": lam, "affinity": affinity}).run(3, evaluate=False)
            ends[lam, affinity] = run.moments[-1].state["memberships"]
    close(ends[0.0, "none"], ends[0.0, "label_cosine"], 1e-12)
    assert np.abs(ends[0.3, "none"] - ends[0.3, "label_cosine"]).max() > 1e-3
    close(ends[0.0, "none"], ends[0.3, "none"], 1e-12)


@pytest.mark.certifies("persfl", "law")
@pytest.mark.parametrize("objective", ["kl", "reverse_kl", "gd"])
@pytest.mark.parametrize("teacher", ["optimal", "final"])
def test_persfl_without_imitation_is_fine_tuning_from_the_teacher(objective, teacher):
    """λ = 0: the student is its teacher, trained on."""
    hyper = {
        "lams": (0.0,),
        "objective": objective,
        "teacher": teacher,
        "student_epochs": 3,
        "student_lr": 0.1,
    }
    run = finished(federated("persfl", hyper=hyper, epochs=2).run(ROUNDS, evaluate=False))
    for k, own in run.moments[-1].own.items():
        tuned = train(copy(own["teacher"]), run.data[k], run.student_plan(ROUNDS + 1, k, 3), 0.1)
        close(own["student"], tuned)


@pytest.mark.certifies("persfl", "law")
@pytest.mark.parametrize("objective", ["kl", "reverse_kl", "gd"])
def test_persfl_with_full_imitation_stays_at_the_teacher(objective):
    """λ = 1: the gradient of the soft loss is 0 at the student that equals its teacher: it never
    moves.
    """
    hyper = {"lams": (1.0,), "objective": objective, "temperatures": (1.0, 5.0)}
    run = finished(federated("persfl", hyper=hyper, epochs=2).run(3, evaluate=False))
    for own in run.moments[-1].own.values():
        close(own["student"], own["teacher"], 1e-12)


@pytest.mark.certifies("persfl", "law")
@pytest.mark.parametrize("weights", ["samples", "uniform"])
def test_persfl_stage_1_is_fedavg(weights):
    persfl, fedavg = (
        federated(name, hyper={"weights": weights}, epochs=2).run(3, evaluate=False)
        for name in ("persfl", "fedavg")
    )
    for a, b in zip(persfl.moments, fedavg.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.up, b.up)
