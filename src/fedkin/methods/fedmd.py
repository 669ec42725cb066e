"""FedMD (Li & Wang, 2019): clients of any architecture agree on class scores of a labeled public
set. Algorithm 1.
"""

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, NotNegative, declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    FederationInit,
    Method,
    Needs,
    ServerContext,
    class_scores,
    public_set,
)
from fedkin.core.model import Model
from fedkin.core.ops import descend, gradient, over_rows, scan, sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import Params, Tree, dtype_of
from fedkin.methods.parts.codistillation import MEAN_PREDICTIONS


def _labeled(w: Params, model: Model, x: Tensor, y: Tensor) -> Tensor:
    return model.family.nll(model.train_outputs(w, x), y).mean()


def _apart(w: Params, model: Model, x: Tensor, consensus: Tensor) -> Tensor:
    return (class_scores(model.train_outputs(w, x)) - consensus).abs().mean()


def _transfer(model: Model, w: Params, batch: tuple[Tensor, Tensor], lr: Tensor) -> Params:
    return descend(w, gradient(_labeled)(w, model, *batch), lr)


def _digest(model: Model, w: Params, batch: tuple[Tensor, Tensor], lr: Tensor) -> Params:
    return descend(w, gradient(_apart)(w, model, *batch), lr)


@declared
def fedmd(
    *,
    lr: float,
    subset: Count | None = None,
    pretrain_steps: Count = 200,
    digest_steps: Count = 20,
    public_batch: Count = 128,
    public_lr: NotNegative | None = None,
) -> Method:
    """FedMD. Round 1, transfer learning: train on the public set with its labels, then on private
    data. Later rounds: digest (match the mean class scores on a random subset of the public set),
    then revisit (private data).

    Readings: class scores are logits, matched by mean absolute error, as the authors' code does.
    One exchange a round: the server names the next subset with each message, and a client sends its
    scores of it after the private training, which are those that the paper's next round would begin
    with; the last scores are not used. A client whose first round is a later one does its transfer
    learning then, and digests from the next on.

    Deviations: the paper's transfer learning goes on to convergence, here for a number of steps.
    Private training is as long in round 1 as in the others ([train]). The authors' code has Adam,
    and 25 epochs of private data (at most) before the first exchange.

    Args:
        lr: Learning rate of private training.
        subset: Public rows scored a round (5,000 in the paper); half of them if not given.
        pretrain_steps: Mini-batches of public rows with labels, in a client's first round.
        digest_steps: Mini-batches of public rows that a client imitates, in its later rounds.
        public_batch: Public rows of a mini-batch.
        public_lr: Learning rate on public rows; lr if not given, 0 leaves local training.
    """
    rate = lr if public_lr is None else public_lr

    def drawn(key: Key, public: int) -> Tensor:
        size = -(-public // 2) if subset is None else subset
        return torch.from_numpy(key.numpy("subset").choice(public, size, replace=False))

    def server(start: FederationInit) -> Tree:
        rows = drawn(start.key, start.public)
        nothing = torch.zeros((0, start.classes), dtype=dtype_of(start.parameters))
        return {"rows": rows, "digest": rows[:0], "predictions": nothing}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"parameters": initial, "transferred": 0}

    def broadcast(state: Tree, client: int) -> Tree:
        control = {"rows": state["rows"], "digest": state["digest"]}
        return {"control": control, "predictions": state["predictions"]}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, public, labels = own["parameters"], public_set(data), data.public_y
        if own["transferred"]:
            pairs = public[received["control"]["digest"]], received["predictions"]
            if len(pairs[1]):  # none while no round's scores have come to a mean
                shared = data.rows(pairs, public_batch, digest_steps, "digest")
                w = scan(_digest, w, shared, rate * data.decay)
        else:
            if labels is None:
                raise ValueError("fedmd uses the labels of the public set")
            shared = data.rows((public, labels), public_batch, pretrain_steps, "transfer")
            w = scan(_transfer, w, shared, rate * data.decay)
        w = scan(sgd_step, w, data.batches(), lr * data.decay)
        predictions = over_rows(class_scores, data.model, w, public[received["control"]["rows"]])
        return {"parameters": w, "transferred": 1}, {"predictions": predictions}

    def expected_update(received: Tree, info: ClientInfo) -> Tree:
        return {
            "predictions": received["predictions"].new_zeros(
                len(received["control"]["rows"]), info.classes
            )
        }

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        rows = drawn(server.key, len(public_set(server)))
        return {"rows": rows, "digest": state["rows"], "predictions": sent.mean["predictions"]}

    def check(start: FederationInit, participants: int) -> None:
        if subset is not None and subset > start.public:
            raise FedkinError(
                f"fedmd: a subset of {subset} of {start.public} public samples: lower method.subset"
            )

    return Method(
        name="fedmd",
        server=server,
        client=client,
        broadcast=broadcast,
        client_update=client_update,
        expected_update=expected_update,
        aggregation=MEAN_PREDICTIONS,
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": own["parameters"]},
        check=check,
        sends_scores=True,
        needs=Needs(
            one_architecture=False, public="labeled", full_participation=True, classes=True
        ),
    )
