"""What must not matter: the order of clients and answers, who stays at home, the numbers that
clusters happen to have.

And what must: a client's state comes from its own data and the messages it received, from nothing
else.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.method import updated
from fedkin.core.ops import simplex_step
from fedkin.core.rng import Key
from fedkin.core.tree import map_tree
from fedkin.methods import METHODS
from fedkin.methods.fedavg import fedavg
from tests.laws.small import (
    FEDERATED,
    NAMES,
    PARTIAL,
    SIZES,
    close,
    federated,
    finished,
    people,
    same,
)
from tests.methods.federation import arrays

# --- order


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_orders_and_answers_does_not_matter(name):
    runs = [
        finished(federated(name, shuffle=shuffle, participation=0.7).run(3, evaluate=False))
        for shuffle in (None, 1)
    ]
    assert runs[0].coordinator.fingerprint() == runs[1].coordinator.fingerprint()


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_clients_do_not_matter(name):
    """Client i becomes client 5 − i. Whole-data batches and a whole public set leave nothing to
    chance; two clear groups, and many k-means++ starts where a method has them, leave one
    clustering.
    """
    hyper = {"public_batch": 99, "starts": 20} if name == "comet" else {}
    plain = people(groups=2, val=9)
    turned = replace(
        plain, **{split: plain.rows(split)[::-1] for split in ("train", "val", "test")}
    )
    ends = []
    for group in (plain, turned):
        run = finished(
            federated(name, hyper=hyper, group=group, batch_size=16, epochs=1).run(
                3, evaluate=False
            )
        )
        ends.append({k: arrays(run.coordinator.views(k, 4)) for k in run.infos})
    for k in ends[0]:
        close(ends[0][k]["personal"], ends[1][len(SIZES) - 1 - k]["personal"], 1e-7)


# --- who stays at home


def absentee(run, rounds):
    """A client that takes part in no round up to this one, nor introduces itself as a first
    participant.
    """
    busy = {k for t in range(rounds + 1) for k in run.coordinator.schedule.participants(t)}
    idle = sorted(set(run.infos) - busy)
    assert idle, "choose another seed: everybody takes part"
    return idle[0]


def with_other_data(group, client, keep_labels):
    """Another client's samples and, unless a setup message has them, its labels."""
    rows = np.concatenate([group.rows(split)[client] for split in ("train", "val", "test")])
    x, y = group.x.clone(), group.y.clone()
    x[rows] = 5.0 - 3.0 * x[rows]
    if not keep_labels:
        y[rows] = (y[rows] + 1) % group.classes
    return replace(group, x=x, y=y)


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", PARTIAL)
def test_a_client_that_does_not_take_part_changes_nothing(name):
    rounds, work = 2, {"participation": 0.34, "seed": 11}
    run = federated(name, **work)
    idle = absentee(run, rounds)
    run.run(rounds, evaluate=False)
    introduced = run.method.needs.introduction == "everyone"
    group = with_other_data(people(), idle, keep_labels=introduced)
    other = federated(name, group=group, **work).setup()
    first = federated(name, **work).setup()
    if introduced:  # every setup message is what it was
        other.coordinator.state = first.coordinator.state
    other.run(rounds, evaluate=False)
    for a, b in zip(run.moments, other.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.own, b.own)
    assert same(run.moments[-1].own[idle], arrays(first.host.personal_state(idle)))
    assert run.host.store.get(idle) is None


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", PARTIAL)
def test_only_participants_change(name):
    run = federated(name, participation=0.5).setup()
    before = arrays({k: run.host.personal_state(k) for k in run.infos})
    for _ in range(4):
        moment = run.run(1, evaluate=False).moments[-1]
        who = moment.record.participants
        assert sorted(moment.down) == sorted(moment.up) == who
        assert len(who) == 3
        for k in run.infos:
            assert k in who or same(moment.own[k], before[k])
        before = moment.own


UNWEIGHTED = {  # every reply counts the same
    "cgpfl",  # k-means counts every upload once
    "cgpfl_heur",
    "clustered_fl",
    "comet",
    "ds_fl",
    "fedamp",
    "feddyn",  # its server's slope moves by the number of replies
    "feddf",  # FedAvg is weighted by samples, the mean of logits is not
    "perada",  # as is the mean of its adapters
    "fedfomo",
    "fedmd",
    "fedproto",  # by the samples of each class, which the message tells
    "fedas",  # by a number that the message tells
    "fedtgp",
    "fedu",
    "kt_pfl",
    "local",
    "scaffold",  # its control moves by the number of replies
}
WEIGHED = [name for name in FEDERATED if "weights" in inspect.signature(METHODS[name]).parameters]


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", [n for n in FEDERATED if n not in UNWEIGHTED])
def test_a_reply_of_weight_0_changes_nothing(name):
    """For methods that weight by samples (the others give every reply or cluster member the same
    weight).
    """
    run = federated(name, hyper={"weights": "samples"} if name in WEIGHED else {}).run(1)
    replies = replies_of(run)
    tools = replace(run.coordinator.federation.tools, key=Key(run.seed, 1))
    odd = {
        **replies,
        2: Reply(map_tree(lambda x: x if x.ndim < 2 else x + 100.0, replies[2].message), 0.0),
    }
    merged = updated(run.method, run.coordinator.state, odd, tools)
    without = updated(
        run.method, run.coordinator.state, {k: r for k, r in replies.items() if k != 2}, tools
    )
    part = models_in(merged)
    close(arrays(merged[part]), arrays(without[part]), 1e-12)


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", WEIGHED)
def test_uniform_weights_do_not_see_samples(name):
    """weights = "uniform" equals "samples" where all clients have equally many, else it differs."""
    uniform, samples = (
        federated(name, hyper={"weights": rule}).run(1) for rule in ("uniform", "samples")
    )
    tools = replace(uniform.coordinator.federation.tools, key=Key(uniform.seed, 1))
    replies = replies_of(uniform)
    alike = {k: reply._replace(weight=3.0) for k, reply in replies.items()}
    state = uniform.coordinator.state
    merged = arrays(updated(uniform.method, state, replies, tools))
    close(merged, arrays(updated(samples.method, state, alike, tools)), 1e-12)
    part = models_in(merged)
    with pytest.raises(AssertionError):
        close(merged[part], arrays(updated(samples.method, state, replies, tools))[part], 1e-4)


def models_in(state):
    """Under what name a server keeps its models."""
    return next(name for name in ("theta", "parameters", "models") if name in state)


def replies_of(run):
    return {k: Reply(run.tape.answers["local"][k], float(run.infos[k].samples)) for k in run.infos}


def test_an_unknown_rule_of_weights():
    with pytest.raises(FedkinError, match=r"method\.weights of fedavg: .*'samples'.*not 'sample'"):
        fedavg(lr=0.1, weights="sample")  # type: ignore[arg-type]


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
def test_looking_changes_nothing(name):
    """Evaluation, views and a sampled but unused round leave every state as it was."""
    run = federated(name, participation=0.7).run(2, evaluate=False)
    blind = run.coordinator.fingerprint()
    looked = federated(name, participation=0.7).run(2, evaluate=True)
    for k in looked.infos:
        looked.coordinator.views(k, 2)
    assert looked.coordinator.fingerprint() == blind


# --- own data and messages only


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", FEDERATED)
@pytest.mark.parametrize("client", [1, 3])
def test_a_state_is_a_function_of_own_data_and_messages(name, client):
    """The client's work again, alone on a host where all the others' samples are NaN: the same
    bits.
    """
    run = finished(federated(name, participation=0.7).run(3, evaluate=False))
    lonely = federated(name, participation=0.7, group=only_of(people(), client), only=client)
    model = run.models[run.infos[client].architecture]
    own = run.method.client(model.initial, run.infos[client])
    if client in run.introductions:
        message = run.method.setup_message(own, lonely.host.data(0, client))
        assert same(arrays(message), run.introductions[client])
    for number, moment in enumerate(run.moments, 1):
        work = run.method.finalize if moment.record.phase == "finish" else run.method.client_update
        if client in moment.down and work is not None:
            down = map_tree(
                lambda x: torch.from_numpy(x) if isinstance(x, np.ndarray) else x,
                moment.down[client],
            )
            result = work(down, own, lonely.host.data(number, client))
            own, message = (result, None) if work is run.method.finalize else result
            assert message is None or same(arrays(message), moment.up[client])
        assert same(arrays(own), moment.own[client])


def only_of(group, client):
    mine = np.concatenate([group.rows(split)[client] for split in ("train", "val", "test")])
    x, y = torch.full_like(group.x, torch.nan), torch.zeros_like(group.y)
    x[mine], y[mine] = group.x[mine], group.y[mine]
    return replace(group, x=x, y=y)


# --- numbers of clusters

ORDER = [2, 0, 1]  # new cluster j is the old cluster ORDER[j]


@pytest.mark.certifies("cgpfl", "law")
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_cgpfl_cluster_numbers(alpha):
    """Permuting the cluster models (and who belongs where) permutes the next rounds' models."""
    plain = federated("cgpfl", hyper={"clusters": 3, "alpha": alpha}).run(2)
    turned = federated("cgpfl", hyper={"clusters": 3, "alpha": alpha}).run(2)
    state = turned.coordinator.state
    models = {n: v[ORDER] for n, v in state["models"].items()}
    place = torch.tensor([ORDER.index(int(k)) for k in state["cluster"]])
    turned.coordinator.state = {**state, "models": models, "cluster": place}
    for a, b in zip(plain.run(2).moments[2:], turned.run(2).moments[2:], strict=True):
        close({n: v[ORDER] for n, v in a.state["models"].items()}, b.state["models"], 1e-12)
        assert [ORDER[k] for k in b.state["cluster"]] == a.state["cluster"].tolist()
        close(a.own, b.own, 1e-12)


@pytest.mark.certifies("comet", "law")
def test_comet_centroid_numbers():
    plain, turned = (federated("comet", hyper={"clusters": 3}).run(2) for _ in range(2))
    turned.coordinator.state = {"centroids": turned.coordinator.state["centroids"][ORDER]}
    a, b = plain.run(1).moments[-1], turned.run(1).moments[-1]
    assert same(a.state, b.state)
    for k in a.own:
        assert same(a.own[k]["parameters"], b.own[k]["parameters"])
        assert ORDER[b.own[k]["cluster"]] == a.own[k]["cluster"]


@pytest.mark.certifies("ppfl", "law")
@pytest.mark.parametrize("structure", [1, 2])
@pytest.mark.parametrize("schedule", ["alternate", "random"])
def test_ppfl_canonical_model_numbers(structure, schedule):
    hyper = {"structure": structure, "schedule": schedule}
    plain, turned = (federated("ppfl", hyper=hyper).run(2) for _ in range(2))
    state = turned.coordinator.state
    theta = {n: v[ORDER] for n, v in state["theta"].items()}
    turned.coordinator.state = {
        **state,
        "theta": theta,
        "memberships": state["memberships"][:, ORDER],
        "sums": state["sums"][:, ORDER],
    }
    for a, b in zip(plain.run(3).moments[2:], turned.run(3).moments[2:], strict=True):
        close({n: v[ORDER] for n, v in a.state["theta"].items()}, b.state["theta"], 1e-12)
        close(a.state["memberships"][:, ORDER], b.state["memberships"], 1e-12)
        for k in a.record.scores:
            close(
                a.record.scores[k]["personal"]["test"],
                b.record.scores[k]["personal"]["test"],
                1e-12,
            )


# --- the simplex


@pytest.mark.certifies("ppfl", "law")
@pytest.mark.parametrize("membership_lr", [0.5, 50.0, 5000.0])
@pytest.mark.parametrize("steps", ["full", "batches"])
def test_memberships_stay_on_the_simplex(membership_lr, steps):
    """With steps so large that a vector would be one-hot, every entry keeps the floor of 1e-6
    (before normalising: at most K entries at the floor add K · 1e-6).
    """
    run = federated("ppfl", hyper={"membership_lr": membership_lr, "membership_steps": steps}).run(
        4
    )
    C = np.array([moment.state["memberships"] for moment in run.moments])
    np.testing.assert_allclose(C.sum(-1), 1.0, atol=1e-12)
    assert C.min() >= 1e-6 / (1 + 3e-6) * (1 - 1e-9)
    if membership_lr == 5000.0:
        assert C.min() < 1.1e-6
        assert len({tuple(c) for c in C[-1].round(4)}) > 1  # and no client is stuck


@pytest.mark.certifies("ppfl", "law")
def test_a_membership_at_the_floor_comes_back():
    """From c = (1 − ε, ε), ε = 1e-6, direction (1, 0) and rate 20: ratio e^20 ε = 485: c_2 = 485 /
    486 = 0.998.
    """
    c = torch.tensor([1 - 1e-6, 1e-6], dtype=torch.float64)
    moved = simplex_step(c, torch.tensor([1.0, 0.0], dtype=torch.float64), 20.0)
    ratio = np.exp(20.0) * 1e-6 / (1 - 1e-6)
    np.testing.assert_allclose(moved, [1 / (1 + ratio), ratio / (1 + ratio)], rtol=1e-9)
