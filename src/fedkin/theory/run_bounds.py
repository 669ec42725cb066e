"""Bounds evaluated on a run: CGPFL's bound and PPFL's criterion at its last committed round; in
``progress`` of a run: along the run.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.tree import flat, row
from fedkin.methods.parts.affinity import laplacian_matrix
from fedkin.setup.build import base_method
from fedkin.setup.loaded_run import Loaded, load
from fedkin.theory.generalization import Clustered, clustered_bound
from fedkin.theory.stationarity import Stationarity, stationarity

__all__ = ["bound_of", "stationarity_of"]


def bound_of(folder: Path, *, smoothness: float, delta: float = 0.05) -> Clustered:
    """Theorem 2's terms for a run of cgpfl or cgpfl_heur, from its models θ_i and ω_k as they are.

    The theorem is about the optimal θ*, ω*: along a run the terms tend to its.

    Args:
        folder: The run's.
        smoothness: L of Assumption 1, seldom known.
        delta: δ, in (0, 1).

    Returns:
        The terms of ``clustered_bound``; its ``local`` is left out.

    Raises:
        FedkinError: The run is of another method, or a number is outside its range.

    Source: CGPFL, Theorem 2.
    """
    run = _opened(folder, {"models", "cluster"}, "cgpfl or cgpfl_heur")
    models = _server(run)["models"]
    count = len(next(iter(models.values())))
    omega = torch.stack([flat(row(models, k)) for k in range(count)])
    theta = torch.stack([flat(_own(run, client)["theta"]) for client in sorted(run.parts.infos)])
    sizes = run.parts.population.sizes("train")
    lam = float(run.parts.method.hyper["lam"])
    return clustered_bound(
        theta.numpy(), omega.numpy(), sizes, lam=lam, smoothness=smoothness, delta=delta
    )


def stationarity_of(folder: Path) -> Stationarity:
    """Equation 26 for a run of ppfl that classifies: all training data of all clients, no
    mini-batches.

    Args:
        folder: The run's.

    Returns:
        The two parts of the criterion, at the last committed round. That of the memberships has the
        gradient that the run's own steps have: p_i ∇f_i, or with membership_scale = "client" ∇f_i.

    Raises:
        FedkinError: The run is of another method, or predicts numbers.

    Source: PPFL, equations 23 to 26.
    """
    run = _opened(folder, {"theta", "memberships"}, "ppfl")
    if run.parts.population.task != "classification":
        raise FedkinError("stationarity_of reads runs that classify: this one predicts numbers")
    state, hyper = _server(run), run.parts.method.hyper
    theta, shares = state["theta"], state["shares"]
    total, slopes = {name: torch.zeros_like(value) for name, value in theta.items()}, []
    for client in sorted(run.parts.infos):
        of_theta, of_c = torch.func.grad(_loss(run, client), argnums=(0, 1))(
            theta, state["memberships"][client]
        )
        total = {name: total[name] + float(shares[client]) * of_theta[name] for name in total}
        own_scale = hyper["membership_scale"] == "client"
        slopes.append(of_c if own_scale else float(shares[client]) * of_c)
    # the rows are kept on the simplex in float32: renormalised for a criterion that is a small
    # difference
    c = state["memberships"].to(torch.float64)
    return stationarity(
        flat(total).numpy(),
        (c / c.sum(1, keepdim=True)).numpy(),
        torch.stack(slopes).numpy(),
        laplacian_matrix(state["laplacian"]).numpy(),
        lam=float(hyper["lam"]),
        step=float(hyper["membership_lr"]),
    )


def _loss(run: Loaded, client: int) -> Any:
    """f_i(θ, c_i): the mean negative log-likelihood of a client's training data."""
    x, y = run.parts.population.part(client, "train")
    (model,) = run.parts.models.values()
    method = base_method(run.parts.spec)  # as it predicts without a model beside

    def loss(theta: Any, c: Tensor) -> Tensor:
        log = method.predict(model, {"theta": theta, "membership": c}, x)
        return -log.gather(1, y[:, None].to(torch.int64)).mean()

    return loss


def _server(run: Loaded) -> Any:
    """What the method keeps at the server; [server] optimizer keeps its own beside it."""
    state = run.coordinator.state
    return state["method"] if "optimizer" in state else state


def _own(run: Loaded, client: int) -> Any:
    """What the method keeps at a client; what it begins with where nobody drew the client yet."""
    state = run.at.states.get(client)
    if state is None:
        (model,) = run.parts.models.values()
        state = run.parts.method.client(model.initial, run.parts.infos[client])
    while "own" in state:  # beside it stands what [method] safe, [train] state, a transform keeps
        state = state["own"]
    return state


def _opened(folder: Path, keeps: set[str], read: str) -> Loaded:
    """A run whose server keeps these parts of its state."""
    run = load(folder)
    if not keeps <= set(_server(run)):
        raise FedkinError(
            f"{folder} is a run of {run.parts.method.name}: this reads runs of {read}"
        )
    return run
