"""IFCA and HypCluster, with plain loops.

IFCA: Ghosh et al. 2020, Algorithm 1, options I (gradient averaging) and II (model averaging);
weight sharing of its section on experiments. HypCluster: Mansour et al. 2020; METHODS.md section 5.

Readings: averages by samples; option I divides by the samples of all participants; a model that
nobody chose stays; HypCluster's random starts run side by side for `trial` rounds, then the one of
least loss is kept.

IFCA was held against the authors' code, jichan3751/ifca at 97db9d1: TrainMNISTCluster of
mnist/train_cluster_mnist.py (option II) and TrainCluster of synthetic/train_cluster.py (option I).
"""

from collections.abc import Mapping, Sequence

from tests.reference.local_fedavg import Plan, train
from tests.reference.model import (
    Client,
    Gradient,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    mean_loss,
    size,
)


def cluster_losses(models: Sequence[Params], client: Client, loss=mean_loss) -> list[float]:
    """F_i(θ_j) for every j, on all training data."""
    return [loss(model, client["x"], client["y"]) for model in models]


def identity(models: Sequence[Params], client: Client, loss=mean_loss) -> int:
    """ĵ = argmin_j F_i(θ_j), the lowest number of equals."""
    losses = cluster_losses(models, client, loss)
    best = 0
    for j in range(1, len(losses)):
        if losses[j] < losses[best]:
            best = j
    return best


def ifca(
    start: Sequence[Params],
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    average: str = "models",
    shared: Sequence[str] = (),
    gradient: Gradient = batch_gradient,
    loss=mean_loss,
) -> list[Snapshot]:
    """`shared`: whole names of parameters that all models have in common (those of start[0]).

    In "gradients" the one mini-batch of plan[t][k] is used. Snapshot: {"server": {"models": [θ_j]},
    "chosen": {k: j of the participants}, "uploads": {k: parameters}, "personal": {k: the model of
    least training loss after the round}, "losses": {k: loss of the choice, as received}}.
    """
    models = [{n: copy(start[0])[n] if n in shared else copy(m)[n] for n in m} for m in start]
    history: list[Snapshot] = []
    for t in range(len(plan)):
        active = list(participants[t])
        chosen, uploads, losses = {}, {}, {}
        for k in active:
            # get_inference_stats, TrainCluster.train: np.argmin of the losses on all training data
            chosen[k] = identity(models, data[k], loss)
            losses[k] = cluster_losses(models, data[k], loss)[chosen[k]]
            # TrainMNISTCluster.train: tau steps of all data from a copy of the chosen model
            uploads[k] = train(models[chosen[k]], data[k], plan[t][k], at(lr, t), gradient)
        total = sum(size(data[k]) for k in active)
        new = []
        for j, model in enumerate(models):
            members = [k for k in active if chosen[k] == j]
            mass = sum(size(data[k]) for k in members)
            if average == "gradients":
                moved = copy(model)
                for k in members:  # gradient_update: the sum by scores, over m, all machines
                    (batch,) = plan[t][k]
                    g = gradient(model, data[k], batch)
                    for n in moved:
                        moved[n] = moved[n] - at(lr, t) * size(data[k]) / total * g[n]
            elif members:  # global_param_update: the plain mean, where len(models) > 0
                moved = combine(
                    [uploads[k] for k in members], [size(data[k]) / mass for k in members]
                )
            else:
                moved = copy(model)
            new.append(moved)
        for n in shared:
            together = sum(size(data[k]) / total * uploads[k][n] for k in active)
            for moved in new:
                moved[n] = together
        models = new
        history.append(
            {
                "server": {"models": [copy(m) for m in models]},
                "chosen": chosen,
                "uploads": uploads,
                "losses": losses,
                "personal": {k: copy(models[identity(models, data[k], loss)]) for k in data},
            }
        )
    return history


def hypcluster(
    starts: Sequence[Sequence[Params]],
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    trial: int,
) -> tuple[int, list[list[Snapshot]]]:
    """(number of the start that is kept, IFCA's snapshots of every start as if each had
    been kept).
    """
    runs = [ifca(start, data, plan, participants, lr) for start in starts]
    last = participants[trial - 1]
    total = sum(size(data[k]) for k in last)
    means = [sum(size(data[k]) / total * run[trial - 1]["losses"][k] for k in last) for run in runs]
    return means.index(min(means)), runs
