"""HypCluster: hypothesis-based clustering (Mansour, Mohri, Ro & Suresh, 2020), the best of several
random starts.
"""

from collections.abc import Mapping
from functools import partial

import torch

from fedkin.core.aggregation import Group, GroupedSum, Mean, Weights
from fedkin.core.hyperparameters import Count, Several, declared
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.optimizers import part_of_work
from fedkin.core.tree import Params, Tree, row
from fedkin.methods.ifca import Choice, choose, ifca, worth
from fedkin.methods.parts.model_sets import chosen, of_set, total_loss, transposed

__all__ = ["hypcluster"]


@declared
def hypcluster(
    *,
    lr: float,
    clusters: Count = 4,
    starts: Count = 3,
    trial: Several = 5,
    weights: Weights = "samples",
) -> Method:
    """HypCluster: IFCA with model averaging, run from several random starts of which the best is
    kept.

    Reading: "best of several random starts" is all that we have on the choice. Here, in the first
    ``trial`` rounds, every participant receives all sets and trains its choice of each on the same
    mini-batches, so that such a round costs ``starts`` times as much; beside each upload it says
    the loss of its choice on its own training data, as received. After the trial the server keeps
    the set of least mean loss among the participants of that last round. Until then a client
    deploys the best of all models on its training data.

    Args:
        lr: Learning rate of local SGD.
        clusters: q, the number of models (hypotheses).
        starts: How many sets of models are tried; 1 is IFCA, and what published communication costs
            count.
        trial: Rounds that all sets take part in, 2 or more.
        weights: "samples" or "uniform": the weights of means, of models and of losses.
    """
    base = ifca(lr=lr, clusters=clusters)

    def server(start: FederationInit) -> Tree:
        sets = {
            f"start{s}": base.server(start._replace(draw=partial(later, start, s * clusters)))
            for s in range(starts)
        }
        return transposed(sets)

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        parts = {}
        for s, models in received["parameters"].items():
            # after the trial the set that stays goes on with its own momentum
            with part_of_work(s):
                parts[s] = base.client_update({"parameters": models}, own, data)[1]
        if len(parts) > 1:
            for s, found in choices(received, data).items():
                like = next(iter(found.parameters.values()))
                parts[s]["control"]["loss"] = torch.tensor(found.loss, dtype=like.dtype)
        return own, transposed(parts)

    def expected_update(received: Tree, info: ClientInfo) -> Tree:
        parts = {
            s: base.expected_update({"parameters": models}, info)
            for s, models in received["parameters"].items()
        }
        if len(parts) > 1:
            for part in parts.values():
                part["control"]["loss"] = next(iter(part["parameters"].values())).new_zeros(())
        return transposed(parts)

    def server_update(state: Tree, sent: Mapping[Group, Mean], server: ServerContext) -> Tree:
        sets = transposed(state)
        heard = {s: of_set(sent, at, s) for at, s in enumerate(sorted(sets))}
        kept = list(sets)
        if len(kept) > 1 and server.key.round >= trial:
            kept = [min(kept, key=lambda s: total_loss(heard[s]))]
        return transposed({s: base.server_update(sets[s], heard[s], server) for s in kept})

    def choices(received: Tree, data: ClientContext) -> dict[str, Choice]:
        """The client's choice of each set."""
        return {
            s: choose([row(models, k) for k in range(clusters)], data)
            for s, models in received["parameters"].items()
        }

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        best = min(choices(received, data).values(), key=lambda found: worth(found.loss))
        return {"personal": best.parameters}

    def server_metrics(state: Tree) -> dict[str, dict[int, float]]:
        sets = list(transposed(state).values())
        clusters_of_clients = base.server_metrics(sets[0]) if len(sets) == 1 else {}
        return {**clusters_of_clients, "starts": {-1: len(sets)}}

    return base._replace(
        name="hypcluster",
        server=server,
        client_update=client_update,
        expected_update=expected_update,
        server_update=server_update,
        aggregation=GroupedSum(partial(chosen, count=clusters), weights),
        personal_models=personal_models,
        server_metrics=server_metrics,
    )


def later(start: FederationInit, by: int, k: int) -> Params:
    """Draw k of the set whose draws begin at ``by``."""
    return start.draw(by + k)
