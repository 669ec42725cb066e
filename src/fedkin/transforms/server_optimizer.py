"""[server] optimizer: what a server makes of the mean that clients sent.

FedAvgM (Hsu, Qi & Brown, 2019); FedAdagrad, FedYogi, FedAdam (Reddi, Charles, Zaheer, Garrett,
Rush, Konečný, Kumar & McMahan: Adaptive federated optimization, 2021, Algorithm 2).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean, WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.kinds import PARAMETERS
from fedkin.core.method import Method, ServerContext
from fedkin.core.settings.choices import AtServer
from fedkin.core.tree import Params, Tree, fill, is_buffer, named_leaves
from fedkin.transforms.extra_state import with_server_state


class ServerOptimizer(NamedTuple):
    """[server]. lr: η. momentum: β, or β₁. beta2: β₂. tau: τ, below which a change counts little.

    The default replaces the parameters by their mean.
    """

    name: AtServer = "sgd"
    lr: float = 1.0
    momentum: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3


AVERAGING = ServerOptimizer()


def optimize_at_server(method: Method, optimizer: ServerOptimizer) -> Method:
    """The method whose server takes Δ = mean − w for a gradient, and steps along it.

    sgd: w + η Δ. momentum: m ← β m + Δ, w + η m. The others: m ← β₁ m + (1 − β₁) Δ and
    w + η m / (√v + τ), where v starts at τ² and becomes v + Δ² (adagrad), β₂ v + (1 − β₂) Δ²
    (adam), or v − (1 − β₂) Δ² sign(v − Δ²) (yogi). Running statistics are averaged as ever.

    Args:
        method: It declares a weighted sum of parameters, sent as values.
        optimizer: Which one.

    Returns:
        The method with {"method": its server state, "optimizer": m and v} as server state.

    Raises:
        FedkinError: The method's server does something else with what it is sent.
    """
    how = method.aggregation
    averages = (
        isinstance(how, WeightedSum)
        and PARAMETERS in how.kinds
        and PARAMETERS not in how.differences
    )
    if not averages or method.needs.plain_mean:
        raise FedkinError(
            f"{method.name}: server.optimizer is for methods whose server averages models, as "
            "fedavg's does: set it to 'sgd' with server.lr = 1"
        )

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        kept = state["optimizer"]
        if PARAMETERS in sent.mean:
            at = method.broadcast(state["method"], sent.clients[0])[PARAMETERS]
            moved, kept = _step(optimizer, at, sent.mean[PARAMETERS], kept)
            sent = sent._replace(mean={**sent.mean, PARAMETERS: moved})
        return {"method": method.server_update(state["method"], sent, server), "optimizer": kept}

    return with_server_state(method, {"optimizer": {}}, server_update)


def _step(optimizer: ServerOptimizer, at: Tree, mean: Tree, kept: Tree) -> tuple[Tree, Tree]:
    """The parameters after a step, and {"mean": m, "square": v} by path."""
    after: list[Tensor] = []
    state: dict[str, Params] = {}
    targets = dict(named_leaves(mean))
    for path, w in named_leaves(at):
        target = targets[path]
        if any(map(is_buffer, path.split("/"))):
            after.append(target)
            continue
        here = {part: of[path] for part, of in kept.items()}
        moved, found = _leaf(optimizer, w, target, here)
        after.append(moved)
        for part, value in found.items():
            state.setdefault(part, {})[path] = value
    return fill(at, iter(after)), state


def _leaf(
    optimizer: ServerOptimizer, w: Tensor, target: Tensor, kept: Params
) -> tuple[Tensor, Params]:
    name, lr, first, second, tau = optimizer
    change = target - w
    if name == "sgd":
        return w + lr * change, {}
    before = kept["mean"] if kept else torch.zeros_like(w)
    if name == "momentum":
        m = first * before + change
        return w + lr * m, {"mean": m}
    m = first * before + (1 - first) * change
    v = SQUARES[name](kept["square"] if kept else torch.full_like(w, tau**2), change**2, second)
    return w + lr * m / (v.sqrt() + tau), {"mean": m, "square": v}


SQUARES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "adagrad": lambda v, square, beta: v + square,
    "adam": lambda v, square, beta: beta * v + (1 - beta) * square,
    "yogi": lambda v, square, beta: v - (1 - beta) * square * torch.sign(v - square),
}
