"""Partial personalization (FedAlt, FedSim), FedPer and LG-FedAvg, with plain loops.

Pillutla et al. 2022, Algorithms 1 and 2; Arivazhagan et al. 2019, Algorithms 1 and 2; Liang et al.
2020, Algorithm 1, as summarised in METHODS.md section 5. A model is split by the names of its
parameters: `personal` v_i, the others u. Server: u <- sum of u_i n_i / (sum of the participants'
n).

FedAlt and FedSim were held against the authors' code, facebookresearch/FL_partial_personalization:
run_local_updates of pfl/optim/fedalt.py and fedsim.py and PartialPFLBase of pfl_base.py at 8f5f652,
FedBase.run_one_round of base.py at d47e118. FedRep was held against AC-Amiya233/FedRep, a copy of
lgcollins/FedRep (the authors'): main_fedrep.py at 3987c22, LocalUpdate of models/Update.py at
1f041d1. FedBN against med-air/FedBN at 0927bb8: federated/fed_digits.py. LG-FedAvg against the
authors' code, pliang279/LG-FedAvg at 8ee6a68: main_lg.py.
"""

from collections.abc import Mapping, Sequence

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    size,
)


def move(v: Params, names: Sequence[str], gradient: Params, lr: float) -> Params:
    """Only the parameters called `names` take a step."""
    return {
        name: value - lr * gradient[name] if name in names else value for name, value in v.items()
    }


def local_sim(
    w: Params,
    client: Client,
    batches: Sequence[Batch],
    personal: Sequence[str],
    lr: float,
    personal_lr: float,
) -> Params:
    """LocalSim: the gradients with respect to v and u are both taken at (u, v) before
    either moves.
    """
    shared = [name for name in w if name not in personal]
    # fedsim.py: one optimizer of "all" parameters, at one rate
    for batch in batches:  # FedBN: train, SGD of all parameters on the cross-entropy
        gradient = batch_gradient(w, client, batch)
        w = move(move(w, personal, gradient, personal_lr), shared, gradient, lr)
    return w


def local_alt(
    w: Params,
    client: Client,
    batches: Sequence[Batch],
    personal_batches: Sequence[Batch],
    personal: Sequence[str],
    lr: float,
    personal_lr: float,
) -> Params:
    """LocalAlt: all steps of v with u fixed, then all steps of u with the new v fixed."""
    shared = [name for name in w if name not in personal]
    # fedalt.py: "client" parameters first, the server's without gradient; then the other way round
    # FedRep: LocalUpdate.train, iter < head_eps: what is in w_glob_keys stands still
    for batch in personal_batches:
        w = move(w, personal, batch_gradient(w, client, batch), personal_lr)
    # FedRep: from iter == head_eps on: what is not in w_glob_keys does
    for batch in batches:
        w = move(w, shared, batch_gradient(w, client, batch), lr)
    return w


def partial_fl(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    personal: Sequence[str],
    lr: float | Sequence[float],
    personal_lr: float | Sequence[float] | None = None,
    personal_plan: Plan | None = None,
    uniform: bool = False,
) -> list[Snapshot]:
    """With `personal_plan` FedAlt, without it FedSim. FedPer: FedSim, one rate; LG-FedAvg: FedSim,
    one rate, the representation personal. FedRep (Collins et al. 2021, Algorithm 1): FedAlt whose
    server takes the plain mean (`uniform`); FedBN (Li et al. 2021, Algorithm 1): FedSim with it.

    Snapshot: {"server": {"model": u}, "uploads": {k: u_k of the participants}, "personal": {k:
    v_k}}.
    """
    u = {name: value for name, value in copy(start).items() if name not in personal}
    v = {k: {name: value for name, value in copy(start).items() if name in personal} for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        eta = at(lr, t)
        eta_v = eta if personal_lr is None else at(personal_lr, t)
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            # FedRep: main_fedrep: net_glob with w_locals[idx] where k is not in w_glob_keys
            # LG-FedAvg: net_local_list[idx], whose w_glob_keys were set after the last round
            w = {**u, **v[k]}  # FedBN: communication copies all but "bn" into the clients' models
            if personal_plan is None:
                w = local_sim(w, data[k], plan[t][k], personal, eta, eta_v)
            else:
                w = local_alt(w, data[k], plan[t][k], personal_plan[t][k], personal, eta, eta_v)
            # update_local_model_and_get_client_grad: v stays with the client, u's change is sent
            v[k] = {name: w[name] for name in v[k]}
            uploads[k] = {name: w[name] for name in u}
        # run_one_round: weighted_average_of_state_dicts, by mini-batches an epoch ("a proxy")
        # FedRep: main_fedrep, lens (1 each for CIFAR and MNIST, samples for FEMNIST and Sent140);
        # LG-FedAvg: div(w_glob, m), uniform; FedBN: client_weights = 1 / client_num, without "bn"
        counts = [1 if uniform else size(data[k]) for k in participants[t]]
        u = combine([uploads[k] for k in participants[t]], [n / sum(counts) for n in counts])
        history.append(
            {
                "server": {"model": copy(u)},
                "uploads": {k: copy(upload) for k, upload in uploads.items()},
                "personal": {k: copy(own) for k, own in v.items()},
            }
        )
    return history
