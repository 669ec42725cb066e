"""FedKD (Wu, Wu, Lyu, Huang & Xie, 2022): a mentor at home and a shared mentee teach each other."""

from collections.abc import Mapping

import torch

from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Fraction, NotNegative, Positive, Weights, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.model import head_of
from fedkin.core.ops import scan
from fedkin.core.tree import Tree, dtype_of, is_buffer, weighted_mean
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.extra_parameters import without
from fedkin.methods.parts.low_rank import expected, factored, multiplied
from fedkin.methods.parts.mutual_distillation import MAP, mutual_step


@declared
def fedkd(
    *,
    lr: float,
    personal_lr: Positive | None = None,
    distill: NotNegative = 1.0,
    hidden: NotNegative = 1.0,
    energy_start: Fraction = 0.95,
    energy_end: Fraction = 0.98,
    rounds: Count | None = None,
    weights: Weights = "uniform",
) -> Method:
    """FedKD: the mentor t of each client descends L_t + (KL(y_s ‖ y_t) + MSE(H_t, W_h H_s)) / (L_t
    + L_s), the shared mentee s descends L_s + (KL(y_t ‖ y_s) + the same MSE) / (L_t + L_s); changes
    of s go up, and their mean into it, as the fewest singular values with Σ σ_k² ≥ T of all.

    Readings: each loss moves its own model, through the denominator too, while the other stands
    still. W_h moves with the mentor, from the identity. H is what enters the head. KL is a sum over
    classes, MSE a mean over features. What is factored is what a round changed; T in round r is
    start + (end − start) r / rounds. A kernel is a matrix of its first axis; changes of vectors and
    running statistics go whole. The personal view is t, the global one s.
    Deviations: both models are of one architecture, without attention maps. Down s goes whole, for
    clients that sat out.

    Args:
        lr: Learning rate of the mentee.
        personal_lr: Of the mentor and of W_h; lr if not given.
        distill: What KL counts; 1 in the paper.
        hidden: What MSE counts; 1 in the paper. With both 0 the mentor trains alone.
        energy_start: T before the first round.
        energy_end: T from round ``rounds`` on; 1 with the start at 1 sends all there is.
        rounds: How long T rises: those of [run], which a method that is given as a Python value has
            to be told.
        weights: "uniform" (the authors' code) or "samples": the weights of the mean.
    """

    rate = lr if personal_lr is None else personal_lr

    def energy(round: int) -> float:
        risen = 1.0 if rounds is None else min(1.0, round / rounds)
        return energy_start + (energy_end - energy_start) * risen

    def check(start: FederationInit, participants: int) -> None:
        if rounds is None and energy_start != energy_end:
            raise FedkinError(
                "fedkd: a method that is given as a value is not told how many rounds the run has, "
                "over which T rises: give it as many, as in fedkd(lr=0.1, rounds=20)"
            )

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        before, size = received["parameters"], head_of(data.model).size
        linear = own["map"] if "map" in own else torch.eye(size, dtype=dtype_of(before))
        both = {**own["parameters"], MAP: linear}, before
        settings = distill, hidden, rate * data.decay, lr * data.decay
        mentor, mentee = scan(mutual_step, both, data.batches(), *settings)
        change = {n: v if is_buffer(n) else v - before[n] for n, v in mentee.items()}
        sent = factored(change, energy(data.key.round))
        return {"parameters": without(mentor, MAP), "map": mentor[MAP]}, {"parameters": sent}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        w = state["parameters"]
        changes = (multiplied(reply.message["parameters"], w) for reply in replies.values())
        mean = weighted_mean(changes, (reply.weight for reply in replies.values()))
        kept = multiplied(factored(mean, energy(server.key.round)), w)
        new = {n: kept[n] if is_buffer(n) else v + kept[n] for n, v in w.items()}
        return {"parameters": {n: v.to(w[n]) for n, v in new.items()}}

    return fedavg(lr=lr)._replace(
        name="fedkd",
        client=lambda initial, info: {"parameters": initial},
        client_update=client_update,
        expected_update=lambda received, info: {"parameters": expected(received["parameters"])},
        aggregation=EachClient(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {
            "personal": own["parameters"],
            "global": received["parameters"],
        },
        check=check,
        needs=Needs(classes=True, head=True),
    )
