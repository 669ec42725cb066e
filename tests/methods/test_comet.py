"""COMET beside tests/reference/comet.py."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.methods import make
from fedkin.methods.comet import comet
from fedkin.methods.parts.comet.silhouette import by_silhouette
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import comet as reference
from tests.reference.kmeans import lloyd
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS, PUBLIC, PUBLIC_BATCH = 0.3, 4, 12, 5
CASES = {
    "steps": {"steps": 3, "clusters": 2, "compile": "trace"},
    "one cluster": {"steps": 3, "clusters": 1},
    "some": {"steps": 4, "clusters": 2, "participation": 0.6, "compile": "trace"},
    "as many as participants": {"steps": 2, "clusters": 3, "participation": 0.6},
    "lam 0": {"steps": 3, "clusters": 2, "lam": 0.0},
    "large lam": {"steps": 3, "clusters": 3, "lam": 9.0},
    "epochs, decay": {"epochs": 1, "clusters": 2, "milestones": (1, 3), "decay": 0.3},
    "the whole public set": {"steps": 2, "clusters": 2, "public_batch": 99},
    "a large public set": {"steps": 1, "clusters": 2, "public": 1030},
    "best of four starts": {"steps": 2, "clusters": 3, "starts": 4},
}


@pytest.mark.certifies("comet", "reference")
@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        *((case, ("dnn", "mlr")) for case in CASES),
        ("steps", ("mlr",)),
        ("some", ("dnn",)),
        ("large lam", ("mlr",)),
    ],
)
def test_comet(case, kinds):
    case = CASES[case]
    work = dict(case)
    hyper = {
        name: work.pop(name)
        for name in ("clusters", "lam", "public_batch", "starts")
        if name in case
    }
    hyper = {"lam": 2.0, "public_batch": PUBLIC_BATCH, **hyper}
    models = {kind: architecture(kind, seed=i) for i, kind in enumerate(kinds)}
    names = [kinds[k % len(kinds)] for k in range(5)]
    people = population(
        public=work.pop("public", PUBLIC)
    )  # predictions are made 1024 rows at a time
    run = Federated(comet(lr=LR, **hyper), people, models, architectures=names, **work).run(ROUNDS)
    trained = compared(run, replay(run, hyper))
    assert trained == set(range(5)) or work.get("participation")


CHOICES = {
    "c chosen": {"clusters": "silhouette"},
    "c chosen, at most 2": {"clusters": "silhouette", "most_clusters": 2, "starts": 3},
    "λ by distance": {"clusters": 2, "pull": "distance"},
    "both, some": {
        "clusters": "silhouette",
        "pull": "distance",
        "participation": 0.7,
        "compile": "trace",
    },
}
GROUPED = (11, 9, 14, 11, 8, 9, 10, 12, 9)  # of three groups, each with a truth of its own


@pytest.mark.certifies("comet", "reference")
@pytest.mark.parametrize("kinds", [("mlr",), ("dnn", "mlr")], ids="-".join)
@pytest.mark.parametrize("case", CHOICES)
def test_comet_chooses(case, kinds):
    """The number of clusters and each client's λ, chosen round by round."""
    work = dict(CHOICES[case])
    hyper = {
        name: work.pop(name)
        for name in ("clusters", "most_clusters", "starts", "pull")
        if name in work
    }
    hyper = {"lam": 2.0, "public_batch": PUBLIC_BATCH, **hyper}
    models = {kind: architecture(kind, seed=i) for i, kind in enumerate(kinds)}
    people = population(GROUPED, public=PUBLIC, groups=3, seed=3)
    names = [kinds[k % len(kinds)] for k in range(len(GROUPED))]
    run = Federated(
        comet(lr=LR, **hyper), people, models, architectures=names, epochs=2, **work
    ).run(ROUNDS)
    theirs = replay(run, hyper)
    compared(run, theirs)
    told = [moment.record.notes for moment in run.moments]
    if "pull" in hyper:
        for notes, other in zip(told, theirs, strict=True):
            agree("comet", {k: notes[k]["lam"] for k in other["lam"]}, other["lam"])
        assert {round(lam, 3) for lam in theirs[-1]["lam"].values()} != {2.0}, "it means something"
    else:
        assert all("lam" not in note for notes in told for note in notes.values())
    counts = [moment.record.server_metrics["clusters"][-1] for moment in run.moments[:-1]]
    assert counts == [len(other["server"]["centroids"]) for other in theirs[1:]]


def compared(run, theirs):
    """Asserts that all numbers of all rounds agree; returns who took part."""
    agree(
        "comet",
        run.introductions,
        {k: {"predictions": s} for k, s in first_predictions(run).items()},
    )
    trained = set()
    for t, (moment, other) in enumerate(zip(run.moments, theirs, strict=True)):
        centroids = other["server"]["centroids"]
        trained |= set(other["messages"])
        agree("comet", moment.up, {k: {"predictions": s} for k, s in other["messages"].items()})
        for k in other["messages"]:
            agree_centroids(moment.down[k]["centroids"], centroids)
        if t + 1 < len(theirs):
            agree_centroids(moment.state["centroids"], theirs[t + 1]["server"]["centroids"])
        for k, w in other["personal"].items():
            agree("comet", moment.own[k]["parameters"], w)
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("comet", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
        for k, number in other[
            "nearest"
        ].items():  # equal first models predict alike: their centroids are one
            agree("comet", moment.down[k]["centroids"][moment.own[k]["cluster"]], centroids[number])
        clusters = {k: note["cluster"] for k, note in moment.record.notes.items()}
        assert clusters == {k: own["cluster"] for k, own in moment.own.items()}
    return trained


def agree_centroids(ours, theirs):
    """The same centroids in the same order; where equal models make fewer than c different ones,
    the same set.
    """
    different = distinct(theirs)
    if len(different) == len(theirs):
        agree("comet", ours, theirs)
    else:
        assert len(ours) == len(theirs)
        agree("comet", distinct(ours), different)


def distinct(centroids):
    flat = np.unique(np.round(centroids.reshape(len(centroids), -1), 9), axis=0)
    return flat.reshape(-1, *centroids.shape[1:])


def starts(run):
    return {k: arrays(run.models[info.architecture].initial) for k, info in run.infos.items()}


def first_predictions(run):
    public = run.people.public.numpy()
    return {
        k: reference.predictions(starts(run)[k], public)
        for k in run.coordinator.schedule.participants(0)
    }


def replay(run, hyper):
    rounds = len(run.moments)
    who = run.participants(rounds)
    plan = run.plan(rounds, draw="uniform")
    size = hyper["public_batch"]
    public_plan = [
        {k: run.public_rows(t + 1, k, size, len(plan[t][k])) for k in who[t]} for t in range(rounds)
    ]
    sent = [
        run.introductions,
        *(moment.up for moment in run.moments[:-1]),
    ]  # what the k-means of each round was given
    received = [np.array([s["predictions"] for _, s in sorted(one.items())]) for one in sent]
    counts = [chosen(run, t, points, hyper) for t, points in enumerate(received)]
    return reference.comet(
        starts(run),
        run.data,
        run.people.public.numpy(),
        plan,
        public_plan,
        who,
        run.coordinator.schedule.participants(0),
        hyper["lam"],
        run.rates(LR, rounds),
        counts,
        [
            best_seeds(run, t, points, c, hyper)[2]
            for t, (points, c) in enumerate(zip(received, counts, strict=True))
        ],
        hyper.get("pull", "equal"),
    )


def chosen(run, t, points, hyper):
    """c of round t."""
    if hyper["clusters"] != "silhouette":
        return hyper["clusters"]
    labels = lambda c: best_seeds(run, t, points, c, hyper)[3]  # noqa: E731
    return reference.choose_c(points, hyper.get("most_clusters", 8), labels)


def best_seeds(run, t, points, clusters, hyper):
    """Of several k-means++ seedings the one whose k-means ends with the least Σ ‖point −
    centroid‖²: (that, its number, the seeds, the labels).
    """
    flat = points.reshape(len(points), -1)
    found = []
    for start in range(hyper.get("starts", 1)):
        seeds = run.seeds(t, points, clusters, start)
        centroids, labels, _ = lloyd(flat, seeds)
        found.append(
            (round(float(np.sum((flat - centroids[labels]) ** 2)), 12), start, seeds, labels)
        )
    return min(found, key=lambda one: one[:2])


@pytest.mark.certifies("comet", "reference")
def test_sampling_is_by_size():
    """p_k = n_k / Σ n: of clients with 1 and 99 samples, one a round, the large one takes part in
    most rounds.

    The small one is drawn with probability 0.01 a round: over 300 rounds 3 on average, 12 or more
    with p < 1e-4.
    """
    run = Federated(
        comet(lr=LR, clusters=1), population((1, 99), public=4), steps=1, participation=0.5
    )
    drawn = [run.coordinator.schedule.participants(t) for t in range(300)]
    assert all(len(who) == 1 for who in drawn)
    assert sum(who == [0] for who in drawn) < 12


# --- choices


@pytest.mark.certifies("comet", "law")
@pytest.mark.parametrize(
    ("groups", "spread", "found"), [(1, 1.0, 1), (3, 0.2, 3), (5, 0.2, 5), (9, 0.2, 6)]
)
def test_as_many_clusters_as_groups(groups, spread, found):
    """Groups far apart are counted, up to the bound; one cloud is one cluster; equal points are one
    cluster.
    """
    rng = np.random.default_rng(groups)
    centers = rng.normal(size=(groups, 12))
    points = torch.from_numpy(np.repeat(centers, 6, 0) + spread * rng.normal(size=(6 * groups, 12)))
    clusters = by_silhouette(points, 6, Key(1), starts=5)
    assert len(clusters.centroids) == found
    assert len(by_silhouette(torch.ones(8, 3), 6, Key(1)).centroids) == 1
    three = torch.tensor([[0.0], [0.1], [10.0]])
    assert len(by_silhouette(three, 6, Key(1)).centroids) == 1, "half of three is one"


def test_a_wrong_choice_is_told():
    with pytest.raises(FedkinError, match=r"method\.clusters.* of comet: .*silhouette"):
        make("comet", {"clusters": "silhouete"}, {"lr": 0.1})
    with pytest.raises(FedkinError, match=r"method\.most_clusters of comet: .*equal to 1, not 0"):
        make("comet", {"clusters": "silhouette", "most_clusters": 0}, {"lr": 0.1})
    assert make("comet", {"clusters": "silhouette"}, {"lr": 0.1}).hyper["clusters"] == "silhouette"
