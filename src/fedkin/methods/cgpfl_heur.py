"""CGPFL-Heur: the number of clusters chosen by the server in the first round (CGPFL, section 4.4,
eq. 12).
"""

import math
from collections.abc import Mapping

import torch

from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.clustering import Clusters, kmeans
from fedkin.core.hyperparameters import Count, NotNegative, Positive, Start, Weights, declared
from fedkin.core.method import FederationInit, Method, ServerContext
from fedkin.core.sums.replies import uniform
from fedkin.core.tree import Tree
from fedkin.methods.cgpfl import cgpfl, regroup, uploads, widen

__all__ = ["cgpfl_heur"]


def trade_off(k: int, samples: float, dimension: int, mu: float, cost: float) -> float:
    """e(K) = sqrt(d K log(e m / d) / m) + μ · cost(K).

    Reading: with more parameters than samples the logarithm is clamped at 1.
    """
    price = math.sqrt(dimension * k * max(math.log(math.e * samples / dimension), 1.0) / samples)
    return price + mu * cost


def cost_of(found: Clusters, points: torch.Tensor, weights: torch.Tensor) -> float:
    """cost(K) = Σ (m_i / m) ‖ω_i − ω_k(i)‖² on the uploaded models; the server never sees θ_i."""
    apart = (points - found.centroids[found.labels]).to(torch.float64).square().sum(1)
    return float((apart * weights).sum() / weights.sum())


@declared
def cgpfl_heur(
    *,
    lr: float,
    mu: NotNegative = 1000.0,
    lam: NotNegative = 12.0,
    personal_lr: Positive = 0.05,
    inner: Count = 5,
    alpha: Positive = 1.0,
    start: Start = "persistent",
    weights: Weights = "uniform",
) -> Method:
    """CGPFL whose server picks K in 1…⌊N/2⌋ by the least e(K) on the first round's uploads, and
    then keeps it.

    Args:
        lr: β, the learning rate of the local copy ω.
        mu: μ, how much a client's distance to its cluster counts against the price of more
            clusters; in units of 1 / parameter², so it depends on model and step size: after a
            short first round distances are small.
        lam: λ of the Moreau envelope.
        personal_lr: η, the step of the personal model θ.
        inner: S, gradient steps of θ on each mini-batch.
        alpha: α, the server's step towards the new means; 1 is the means.
        start: What θ goes on from in a round, as in cgpfl.
        weights: "samples" or "uniform": the weights of the mean within a cluster; e(K) counts
            samples with both.
    """
    base = cgpfl(
        lr=lr, clusters=1, lam=lam, personal_lr=personal_lr, inner=inner, alpha=alpha, start=start
    )

    def server(start: FederationInit) -> Tree:
        return {**base.server(start), "chosen": 0}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        points = uploads(replies)
        weighed = uniform(replies) if weights == "uniform" else replies
        if state["chosen"]:
            return regroup(state, weighed, kmeans(points, state["chosen"], server.key), alpha)
        samples = torch.tensor([reply.weight for reply in replies.values()], dtype=torch.float64)
        tried = [kmeans(points, k, server.key) for k in range(1, max(len(points) // 2, 1) + 1)]
        scores = [
            trade_off(k, float(samples.sum()), points.shape[1], mu, cost_of(found, points, samples))
            for k, found in enumerate(tried, 1)
        ]
        best = scores.index(min(scores))
        return regroup({**widen(state, best + 1), "chosen": best + 1}, weighed, tried[best], alpha)

    return base._replace(
        name="cgpfl_heur",
        server=server,
        aggregation=EachClient(None),
        server_update=server_update,
    )
