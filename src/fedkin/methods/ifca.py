"""IFCA: iterative federated clustering (Ghosh, Chung, Yin & Ramchandran, 2020). Algorithm 1.

The server keeps c models; a client takes the one of lowest loss on its own training data and works
on it.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import torch

from fedkin.core.aggregation import Group, GroupedSum, Mean, Weights
from fedkin.core.hyperparameters import Count, declared
from fedkin.core.layers import Layers, select
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree, mix, stack, weighted_mean
from fedkin.methods.parts.clusters import NOT_HEARD, clusters_of, reported_cluster

__all__ = ["Choice", "choose", "ifca"]


class Choice(NamedTuple):
    """The model that a client takes: its number, its parameters, and their loss on the client's
    training data.
    """

    cluster: int
    parameters: Params
    loss: float


def choose(candidates: Sequence[Params], data: ClientContext) -> Choice:
    """argmin_j F_i(θ_j) over all training data (line 6); of equals the first, and none that
    diverged where another did not.

    Args:
        candidates: θ_1 … θ_k as the client received them.
        data: Of the client.

    Returns:
        Its number from 0, its parameters, its loss.
    """
    losses = [data.score(w, "train")[0] for w in candidates]
    best = min(range(len(losses)), key=lambda j: worth(losses[j]))
    return Choice(best, candidates[best], losses[best])


def worth(loss: float) -> tuple[bool, float]:
    """The least is the best: NaN, which every comparison leaves where it is, comes last."""
    return math.isnan(loss), loss


@declared
def ifca(
    *,
    lr: float,
    clusters: Count = 4,
    average: Literal["models", "gradients"] = "models",
    shared: Layers = (),
    weights: Weights = "samples",
) -> Method:
    """IFCA. A participant chooses its model anew in every round; it keeps nothing at home.

    Readings: a cluster that nobody chose keeps its model. In "gradients" the client sends θ − γ g
    instead of g (as many numbers) and the server's θ_j − γ Σ p_i g_i runs over the members of j
    with the p_i of ALL participants, as the paper's 1/m. The loss is measured in evaluation mode.

    Args:
        lr: γ, the learning rate of local SGD.
        clusters: k, the number of models; they start from different draws.
        average: "models" (option II) trains the chosen model as [train] says and averages the
            results in each cluster; "gradients" (option I) is one gradient on one mini-batch a
            round, whatever [train] says of steps.
        shared: Layers that all clusters share, by name (the paper's weight sharing): prefixes,
            "first" or "last"; they are sent once, and averaged over all participants.
        weights: "samples" or "uniform": the weights of averages; the same for the paper's machines,
            which have equally many samples.
    """
    steps = None if average == "models" else 1

    def common(models: Params) -> frozenset[str]:
        return select(models, shared, "shared layer") if shared else frozenset()

    def one(models: Params, cluster: int) -> Params:
        together = common(models)
        return {
            name: value if name in together else value[cluster] for name, value in models.items()
        }

    def server(start: FederationInit) -> Tree:
        drawn = [start.draw(k) for k in range(clusters)]
        together = common(drawn[0])
        models = {
            n: w if n in together else torch.stack([d[n] for d in drawn])
            for n, w in drawn[0].items()
        }
        return {"parameters": models, "cluster": torch.full((len(start.clients),), NOT_HEARD)}

    def chosen(received: Tree, data: ClientContext) -> Choice:
        return choose([one(received["parameters"], k) for k in range(clusters)], data)

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        found = chosen(received, data)
        w = scan(sgd_step, found.parameters, data.batches(steps=steps), lr * data.decay)
        return own, {"parameters": w, "control": {"cluster": torch.tensor(found.cluster)}}

    def server_update(state: Tree, sent: Mapping[Group, Mean], server: ServerContext) -> Tree:
        models, cluster = state["parameters"], state["cluster"].clone()
        heard = [group for group in sent.values() if group.weight]
        together: Params = weighted_mean(
            (some(group, common(models)) for group in heard), (group.weight for group in heard)
        )
        for (k,), group in sent.items():
            cluster[list(group.clients)] = k
        apart = stack([renewed(models, k, sent) for k in range(clusters)])
        return {
            "parameters": {n: together[n] if n in together else apart[n] for n in models},
            "cluster": cluster,
        }

    def renewed(models: Params, k: int, sent: Mapping[Group, Mean]) -> Params:
        """θ_k after the round, without what is shared: lines 13 and 14 of Algorithm 1."""
        before = {n: value[k] for n, value in models.items() if n not in common(models)}
        members = sent.get((k,))
        if members is None or not members.weight:
            return before
        everyone = sum(group.weight for group in sent.values())
        after: Params = mix(
            before,
            some(members, before),
            1.0 if average == "models" else members.weight / everyone,
        )
        return after

    return Method(
        name="ifca",
        server=server,
        client=lambda initial, info: {},
        broadcast=lambda state, client: {"parameters": state["parameters"]},
        client_update=client_update,
        expected_update=lambda received, info: {
            "parameters": one(received["parameters"], 0),
            "control": {"cluster": torch.tensor(0)},
        },
        server_update=server_update,
        aggregation=GroupedSum(
            lambda message: (reported_cluster(message["control"], clusters),), weights
        ),
        personal_models=lambda received, own, data: {"personal": chosen(received, data).parameters},
        server_metrics=server_metrics,
        needs=Needs(plain_sgd=average == "gradients"),
    )


def some(group: Mean, names: Collection[str]) -> Params:
    """Some layers of a group's mean."""
    return {name: group.mean["parameters"][name] for name in names}


def server_metrics(state: Tree) -> dict[str, dict[int, int]]:
    """The last cluster that each client said it chose; nothing of those that never took part."""
    return {"cluster": clusters_of(state)}
