"""ifca, hypcluster, fedem, clustered_fl: FedAvg at their edges, meaningless cluster numbers, groups
that are found.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.aggregation import Reply
from fedkin.core.method import updated
from fedkin.core.model import from_module
from fedkin.core.rng import Key
from fedkin.methods.fedem import mixture, responsibilities
from tests.laws.small import SIZES, close, federated, finished, method, people, same
from tests.methods.federation import CLASSES, WIDTH, Federated, architecture, arrays

ROUNDS = 4
WORK = {
    "all": {"epochs": 2},
    "some": {"epochs": 1, "participation": 0.6},
    "decay": {"epochs": 1, "milestones": (1,)},
}
SPLITTING = {"eps1": 0.9, "eps2": 0.1, "gamma": 0.1}
ALONE = {  # one model: hyper-parameters, and the one model in the server state
    "ifca": ({"clusters": 1}, lambda state: {n: v[0] for n, v in state["parameters"].items()}),
    "hypcluster": (
        {"clusters": 1, "starts": 1},
        lambda state: {n: v[0] for n, v in state["parameters"]["start0"].items()},
    ),
    "fedem": ({"components": 1}, lambda state: {n: v[0] for n, v in state["parameters"].items()}),
    "clustered_fl": (
        {"eps1": 1e-12},
        lambda state: {n: v[0] for n, v in state["parameters"].items()},
    ),
}


def normed(seed=0):
    """A model with batch norm: its statistics are averaged like weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = nn.Sequential(
            nn.Linear(WIDTH, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, CLASSES)
        )
    return from_module("normed", module.double())


# --- one model is FedAvg
# --------------------------------------------------------------------------------------------


@pytest.mark.certifies("law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("name", ALONE)
def test_with_one_model_it_is_fedavg(name, kind, work):
    """One cluster or component, or conditions that never allow a split: FedAvg, round by round."""
    hyper, one = ALONE[name]
    if name == "clustered_fl":
        work = {**work, "participation": 1.0}
    ours = federated(name, hyper=hyper, kind=kind, **work).run(ROUNDS)
    fedavg = federated("fedavg", kind=kind, **work).run(ROUNDS)
    for a, b in zip(ours.moments, fedavg.moments, strict=True):
        close(one(a.state), b.state["parameters"], 1e-12)
        for k in b.record.scores:
            close(a.record.scores[k]["personal"], b.record.scores[k]["personal"], 1e-12)


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", ALONE)
def test_with_one_model_and_batch_norm_it_is_fedavg(name):
    """Running statistics go the same way as in FedAvg."""
    hyper, one = ALONE[name]
    runs = [
        Federated(method(n, **h), people(), {"normed": normed()}, draws=[normed()], epochs=1).run(3)
        for n, h in ((name, hyper), ("fedavg", {}))
    ]
    for a, b in zip(runs[0].moments, runs[1].moments, strict=True):
        close(one(a.state), b.state["parameters"], 1e-12)


@pytest.mark.certifies("fedem", "law")
def test_fedem_components_do_not_mix_their_batch_norm_statistics():
    """π = (1, 0) in all but a breath: component 0 goes FedAvg's way, statistics too, whatever the
    other one holds.
    """
    draws = [normed(0), normed(1)]
    one_hot = torch.tensor([1.0, 1e-300], dtype=torch.float64)
    chosen = method("fedem", components=2)._replace(
        client=lambda initial, info: {"membership": one_hot}
    )
    fedem = Federated(chosen, people(), {"normed": draws[0]}, draws=draws, epochs=1).run(3)
    fedavg = Federated(method("fedavg"), people(), {"normed": draws[0]}, epochs=1).run(3)
    for a, b in zip(fedem.moments, fedavg.moments, strict=True):
        close({n: v[0] for n, v in a.state["parameters"].items()}, b.state["parameters"], 1e-9)


@pytest.mark.certifies("ifca", "law")
@pytest.mark.parametrize("participation", [1.0, 0.6])
def test_ifca_gradients_with_one_cluster_is_fedavg_with_one_step(participation):
    ifca = federated(
        "ifca", hyper={"clusters": 1, "average": "gradients"}, epochs=3, participation=participation
    )
    fedavg = federated("fedavg", steps=1, participation=participation)
    for a, b in zip(ifca.run(ROUNDS).moments, fedavg.run(ROUNDS).moments, strict=True):
        close({n: v[0] for n, v in a.state["parameters"].items()}, b.state["parameters"], 1e-12)


@pytest.mark.certifies("ifca", "law")
@pytest.mark.parametrize("average", ["models", "gradients"])
def test_ifca_that_shares_everything_is_fedavg(average):
    """Whatever the number of clusters: one copy of every layer, averaged over all participants."""
    work = {"steps": 1, "participation": 0.6}
    ifca = federated("ifca", hyper={"shared": ["weight", "bias"], "average": average}, **work).run(
        ROUNDS
    )
    fedavg = federated("fedavg", **work).run(ROUNDS)
    for a, b in zip(ifca.moments, fedavg.moments, strict=True):
        close(a.state["parameters"], b.state["parameters"], 1e-12)


@pytest.mark.certifies("ifca", "law")
def test_ifca_shares_the_statistics_of_a_shared_layer():
    run = Federated(method("ifca", shared=["1."], clusters=2), people(), {"normed": normed()},
                    draws=[normed(0), normed(1)], epochs=1).run(2)  # fmt: skip
    shapes = {n: v.ndim for n, v in run.moments[-1].state["parameters"].items()}
    assert shapes["1.weight"] == shapes["buffer:1.running_mean"] == 1
    assert shapes["0.weight"] == shapes["3.weight"] == 3


@pytest.mark.certifies("hypcluster", "law")
@pytest.mark.parametrize("participation", [1.0, 0.6])
def test_hypcluster_from_one_start_is_ifca(participation):
    work = {"epochs": 1, "participation": participation}
    hyp = federated("hypcluster", hyper={"clusters": 3, "starts": 1}, **work).run(ROUNDS)
    ifca = federated("ifca", hyper={"clusters": 3}, **work).run(ROUNDS)
    for a, b in zip(hyp.moments, ifca.moments, strict=True):
        assert same(a.state["parameters"]["start0"], b.state["parameters"])
        assert same(a.state["cluster"]["start0"], b.state["cluster"])
        assert a.record.scores == b.record.scores


@pytest.mark.certifies("hypcluster", "law")
def test_hypcluster_keeps_the_better_start():
    """Set 1 is trained beforehand, set 0 is not: the server keeps set 1, without ever having seen a
    sample.
    """
    group = people(groups=2)
    trained = federated("ifca", hyper={"clusters": 2}, group=group, steps=40, compile="trace").run(
        10, evaluate=False
    )
    better = [
        architecture("mlr")._replace(
            initial={
                n: torch.from_numpy(v[j])
                for n, v in trained.moments[-1].state["parameters"].items()
            }
        )
        for j in range(2)
    ]
    draws = [architecture("mlr", 1), architecture("mlr", 2), *better]
    chosen = method("hypcluster", clusters=2, starts=2, trial=2)
    run = Federated(chosen, group, {"mlr": draws[0]}, draws=draws, steps=2).run(3)
    assert [sorted(moment.state["parameters"]) for moment in run.moments] == [
        ["start0", "start1"],
        ["start1"],
        ["start1"],
    ]
    assert [moment.record.server_metrics["starts"][-1] for moment in run.moments] == [2, 1, 1]


# --- numbers of clusters
# --------------------------------------------------------------------------------------------

ORDER = [2, 0, 1]  # new cluster j is the old cluster ORDER[j]


def permuted(models):
    return {n: v[ORDER] for n, v in models.items()}


def renumbered(cluster):
    return torch.tensor([ORDER.index(int(k)) if k >= 0 else -1 for k in cluster])


def same_scores(a, b):
    for k in a.record.scores:
        close(a.record.scores[k]["personal"], b.record.scores[k]["personal"], 1e-10)


@pytest.mark.certifies("ifca", "law")
@pytest.mark.parametrize("average", ["models", "gradients"])
@pytest.mark.parametrize("participation", [1.0, 0.6])
def test_ifca_cluster_numbers(participation, average):
    """Permuting the models permutes the next rounds' models and choices."""
    hyper = {"clusters": 3, "average": average}
    plain, turned = (
        federated("ifca", hyper=hyper, participation=participation).run(1) for _ in range(2)
    )
    state = turned.coordinator.state
    turned.coordinator.state = {
        "parameters": permuted(state["parameters"]),
        "cluster": renumbered(state["cluster"]),
    }
    for a, b in zip(plain.run(3).moments[1:], turned.run(3).moments[1:], strict=True):
        close(permuted(a.state["parameters"]), b.state["parameters"], 1e-12)
        assert renumbered(a.state["cluster"]).tolist() == b.state["cluster"].tolist()
        same_scores(a, b)


@pytest.mark.certifies("hypcluster", "law")
def test_hypcluster_cluster_numbers():
    hyper = {"clusters": 3, "starts": 2, "trial": 3}
    plain, turned = (federated("hypcluster", hyper=hyper).run(1) for _ in range(2))
    state = turned.coordinator.state
    turned.coordinator.state = {
        "parameters": {s: permuted(models) for s, models in state["parameters"].items()},
        "cluster": {s: renumbered(cluster) for s, cluster in state["cluster"].items()},
    }
    for a, b in zip(plain.run(3).moments[1:], turned.run(3).moments[1:], strict=True):
        close(
            {s: permuted(models) for s, models in a.state["parameters"].items()},
            b.state["parameters"],
            1e-12,
        )
        same_scores(a, b)


@pytest.mark.certifies("fedem", "law")
def test_fedem_component_numbers():
    plain, turned = (federated("fedem", hyper={"components": 3}).run(1) for _ in range(2))
    turned.coordinator.state = {"parameters": permuted(turned.coordinator.state["parameters"])}
    for k in turned.infos:
        turned.host.store.put(k, {"membership": turned.host.personal_state(k)["membership"][ORDER]})
    for a, b in zip(plain.run(3).moments[1:], turned.run(3).moments[1:], strict=True):
        close(permuted(a.state["parameters"]), b.state["parameters"], 1e-12)
        close(
            {k: own["membership"][ORDER] for k, own in a.own.items()},
            {k: b.own[k]["membership"] for k in b.own},
        )
        same_scores(a, b)


@pytest.mark.certifies("clustered_fl", "law")
def test_clustered_fl_cluster_numbers():
    """Clients keep their companions and their models, whatever the clusters are called, also when
    they split on.
    """
    plain, turned = (federated("clustered_fl", hyper=SPLITTING).run(2) for _ in range(2))
    state = turned.coordinator.state
    count = len(state["parameters"]["bias"])
    assert 2 <= count < len(SIZES)
    turned.coordinator.state = {
        **state,
        "parameters": {n: v.flip(0) for n, v in state["parameters"].items()},
        "cluster": count - 1 - state["cluster"],
    }
    for a, b in zip(plain.run(2).moments[2:], turned.run(2).moments[2:], strict=True):
        close(by_client(a), by_client(b), 1e-12)
        assert together(a) == together(b)


def by_client(moment):
    models, cluster = moment.state["parameters"], moment.state["cluster"]
    return {k: {n: v[c] for n, v in models.items()} for k, c in enumerate(cluster)}


def together(moment):
    return by_choice(moment.state["cluster"])


# --- groups are found
# -----------------------------------------------------------------------------------------------


def grouped(groups, count=8, size=64, **how):
    return people(sizes=(size,) * count, groups=groups, seed=2, val=20, **how)


def true_groups(groups, count=8):
    return {frozenset(range(g, count, groups)) for g in range(groups)}


@pytest.mark.certifies("ifca", "law")
def test_ifca_finds_two_clear_groups():
    """From a first round in which six of eight clients take one model; the best start of hypcluster
    does, too.
    """
    run = started("ifca", (6, 7), clusters=2).run(10, evaluate=False)
    assert by_choice(run.moments[0].state["cluster"]) != true_groups(2)
    assert by_choice(run.moments[-1].state["cluster"]) == true_groups(2)


@pytest.mark.certifies("hypcluster", "law")
def test_hypcluster_leaves_a_bad_start():
    """From one start everybody takes one model for ever (IFCA's local minimum); beside a good one
    it is dropped.
    """
    stuck = started("ifca", (1, 3), clusters=2).run(10, evaluate=False)
    assert by_choice(stuck.moments[-1].state["cluster"]) == {frozenset(range(8))}
    run = started("hypcluster", (1, 3, 6, 7), clusters=2, starts=2, trial=5).run(10, evaluate=False)
    assert list(run.moments[-1].state["parameters"]) == ["start1"]
    assert by_choice(run.moments[-1].state["cluster"]["start1"]) == true_groups(2)


def started(name, seeds, **hyper):
    draws = [architecture("mlr", seed) for seed in seeds]
    return Federated(
        method(name, **hyper),
        grouped(2, size=24),
        {"mlr": draws[0]},
        draws=draws,
        steps=10,
        compile="trace",
    )


def by_choice(cluster):
    return {frozenset(np.flatnonzero(cluster == c).tolist()) for c in set(cluster.tolist())}


@pytest.mark.certifies("fedem", "law")
def test_fedem_on_two_clear_groups_is_near_one_hot():
    run = started("fedem", (1, 2), components=2).run(25, evaluate=False)
    memberships = np.array([own["membership"] for _, own in sorted(run.moments[-1].own.items())])
    assert memberships.max(1).min() > 0.9
    assert by_choice(memberships.argmax(1)) == true_groups(2)


@pytest.mark.certifies("clustered_fl", "law")
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_clustered_fl_finds_the_groups_and_no_more(groups):
    """By its default conditions, recursively: 4 groups need splits of clusters that are themselves
    halves.
    """
    run = federated(
        "clustered_fl",
        hyper=DEFAULTS,
        group=grouped(groups),
        epochs=2,
        batch_size=16,
        compile="trace",
    ).run(40)
    assert together(run.moments[-1]) == true_groups(groups)
    counts = [moment.record.server_metrics["clusters"][-1] for moment in run.moments]
    assert counts == sorted(counts)
    for moment in run.moments:
        copies = [
            item for item in moment.record.sent if item.direction == "down" and item.copy == 0
        ]
        before = (
            1
            if moment is run.moments[0]
            else run.moments[run.moments.index(moment) - 1].record.server_metrics["clusters"][-1]
        )
        assert len(copies) == before  # one broadcast a cluster


DEFAULTS = {"eps1": 0.2, "eps2": 0.4, "gamma": 0.5}


@pytest.mark.certifies("clustered_fl", "law")
def test_both_halves_start_from_the_parents_updated_model():
    run = federated("clustered_fl", hyper=SPLITTING).run(1)
    fedavg = federated("fedavg").run(1)
    models = run.moments[0].state["parameters"]
    assert len(models["bias"]) == 2
    for half in range(2):
        close({n: v[half] for n, v in models.items()}, fedavg.moments[0].state["parameters"], 1e-12)


@pytest.mark.certifies("clustered_fl", "law")
def test_a_cluster_is_not_split_while_a_member_is_missing():
    run = federated("clustered_fl", hyper=SPLITTING)
    first = run.coordinator.state
    run.run(1)
    assert len(run.coordinator.state["parameters"]["bias"]) == 2
    replies = {
        k: Reply(run.tape.answers["local"][k], float(run.infos[k].samples))
        for k in list(run.infos)[1:]
    }
    tools = replace(run.coordinator.federation.tools, key=Key(run.seed, 1))
    merged = updated(run.method, first, replies, tools)
    assert len(merged["parameters"]["bias"]) == 1
    assert merged["cluster"].tolist() == [0] * len(SIZES)


# --- choices are made on training data
# ------------------------------------------------------------------------------


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", ["ifca", "hypcluster", "fedem"])
def test_validation_and_test_data_choose_nothing(name):
    """With other validation and test samples every state and every view is the same, bit by bit."""
    plain = people(groups=2)
    rows = np.concatenate(
        [plain.rows(split)[k] for split in ("val", "test") for k in range(plain.clients)]
    )
    x = plain.x.clone()
    x[rows] = 7.0 - 5.0 * x[rows]
    ends = [finished(federated(name, group=group).run(3)) for group in (plain, replace(plain, x=x))]
    assert ends[0].coordinator.fingerprint() == ends[1].coordinator.fingerprint()
    for k in ends[0].infos:
        views = [arrays(run.coordinator.views(k, 4)) for run in ends]
        assert same(*views)


# --- FedEM: the simplex, by hand
# ------------------------------------------------------------------------------------


@pytest.mark.certifies("fedem", "law")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_memberships_stay_on_the_simplex(dtype):
    run = finished(federated("fedem", group=people(dtype=dtype), participation=0.7).run(6))
    for moment in run.moments:
        for own in moment.own.values():
            pi = own["membership"]
            assert (pi >= 0).all()
            assert abs(pi.sum() - 1) < (1e-6 if dtype == torch.float32 else 1e-12)


def test_who_never_took_part_is_uniform():
    run = federated("fedem", participation=0.34, seed=11).run(2)
    busy = {k for moment in run.moments for k in moment.record.participants}
    assert busy < set(run.infos)
    for k in run.infos:
        even = np.allclose(run.moments[-1].own[k]["membership"], 1 / 3)
        assert even == (k not in busy)


@pytest.mark.certifies("fedem", "closed form")
def test_e_step_by_hand():
    """π = (¼, ¾), losses (0, log 3) and (log 3, 0): weights ¼ : ¼ and 1/12 : ¾, so q = (½, ½) and
    (0.1, 0.9).
    """
    loss = torch.tensor([[0.0, np.log(3.0)], [np.log(3.0), 0.0]], dtype=torch.float64)
    q = responsibilities(loss, torch.tensor([0.25, 0.75], dtype=torch.float64))
    np.testing.assert_allclose(q, [[0.5, 0.5], [0.1, 0.9]], rtol=1e-12)
    far = responsibilities(
        1e5 * loss, torch.tensor([1.0, 0.0], dtype=torch.float64)
    )  # a component lost for good
    np.testing.assert_array_equal(far, [[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.certifies("fedem", "closed form")
@pytest.mark.parametrize("family", ["categorical", "bernoulli", "gaussian", "poisson"])
def test_a_mixture_of_predictions(family):
    """Probabilities (or means) are mixed, not logits or parameters; every family can be trained and
    scored.
    """
    from fedkin.core.family import FAMILIES
    from tests.methods.federation import population

    kind = "mlr" if family == "categorical" else "glm"
    draws = [architecture(kind, seed, family=FAMILIES[family]) for seed in (1, 2)]
    group = population(SIZES, family=family, seed=1)
    run = Federated(
        method("fedem", components=2, lr=0.05), group, {kind: draws[0]}, draws=draws, steps=2
    ).run(3)
    x, pi = group.x[:5], torch.tensor([0.3, 0.7], dtype=torch.float64)
    models = {n: torch.stack([d.initial[n] for d in draws]) for n in draws[0].initial}
    mixed = mixture(draws[0], {"models": models, "membership": pi}, x)
    means = [draws[0].family.mean(draws[0].outputs(d.initial, x)) for d in draws]
    expected = 0.3 * means[0] + 0.7 * means[1]
    if family == "bernoulli":
        expected = torch.cat([1 - expected, expected], 1)
    close(
        (mixed.exp() if draws[0].family.classes else mixed).numpy(),
        expected.detach().numpy(),
        1e-12,
    )
    assert all(
        np.isfinite(scores["personal"]["test"][0])
        for scores in run.moments[-1].record.scores.values()
    )
