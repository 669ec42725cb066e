"""FedAS (Yang, Huang & Ye, 2024): a client aligns the shared body with what it knew before, and the
server weighs bodies by the Fisher information of their clients' data.
"""

from collections.abc import Mapping

from torch import Tensor

from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Positive, Whole, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.model import Batch, Model, head_of
from fedkin.core.ops import descend, gradient, scan, sgd_step
from fedkin.core.tree import Params, Tree, is_buffer, weighted_mean
from fedkin.methods.parts.fisher import trace
from fedkin.methods.parts.prototypes import prototypes

__all__ = ["fedas"]

LEAST = 1e-30  # of a trace, so that clients who all have 0 count alike


@declared
def fedas(*, lr: float, align_epochs: Whole = 1, align_lr: Positive = 0.01) -> Method:
    """FedAS: body θ shared, head φ_i personal. A client first moves the received θ so that its
    features come near to the class means of its own last model (parameter alignment), then trains
    θ and φ_i; the server takes θ ← Σ tr(F_i) θ_i / Σ tr(F_i) (client synchronization).

    Readings: F_i = E ‖∇_θ log p(y|x)‖², the trace over the shared parameters, sample by sample on
    the client's training data, at the trained model in evaluation mode. Alignment is the mean over
    a mini-batch's samples. At its first participation a client has no model of its own, and aligns
    nothing. The personal view is the client's model after its training; before its first one the
    body with the initial head.

    Deviations: the authors' code aligns the server's own model in place, so a client receives θ as
    the one before it has moved it. Its trace is of all parameters, and sums over mini-batches the
    ‖∇‖² of a mini-batch's mean: there a client with more data weighs more. Aligning, it adds up the
    means of a mini-batch's classes: with C in equal parts its step is align_lr = 0.01 C.

    Args:
        lr: Learning rate of local SGD.
        align_epochs: Passes of the alignment, min ‖f(x; θ) − p_y‖²/d; 1 in the authors' code.
        align_lr: Its learning rate.
    """

    def server(start: FederationInit) -> Tree:
        (head,) = start.heads.values()
        return {
            "parameters": {
                name: value for name, value in start.only().items() if name not in head.names
            }
        }

    def check(start: FederationInit, participants: int) -> None:
        if all(is_buffer(name) for name in server(start)["parameters"]):
            raise FedkinError(
                "fedas shares the body of a model, and model.frozen holds all of it: freeze less"
            )

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        mine, body = last(own, received, data), received["parameters"]
        head = {name: value for name, value in mine.items() if name not in body}
        if own and align_epochs:
            means, _ = prototypes(data, mine)
            batches = data.batches(purpose="align", epochs=align_epochs)
            body = scan(aligned_step, body, batches, head, means, align_lr * data.decay)
        whole = {name: body.get(name, mine[name]) for name in mine}
        w = scan(sgd_step, whole, data.batches(), lr * data.decay)
        body, head = ({name: w[name] for name in part} for part in (body, head))
        message = {"parameters": body, "coefficients": trace(data, w, body)}
        return {"parameters": body, "head": head}, message

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        messages = [reply.message for reply in replies.values()]
        shares = [max(float(up["coefficients"]), LEAST) for up in messages]
        return {"parameters": weighted_mean([up["parameters"] for up in messages], shares)}

    return Method(
        name="fedas",
        server=server,
        client=lambda initial, info: {},
        broadcast=lambda state, client: state,
        client_update=client_update,
        expected_update=expected,
        aggregation=EachClient("uniform"),
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": last(own, received, data)},
        check=check,
        needs=Needs(classes=True, head=True),
    )


def last(own: Tree, received: Tree, data: ClientContext) -> Params:
    """The client's model as it left its last training; before its first one the shared body with
    the initial head.
    """
    initial = data.model.initial
    known = {**own["parameters"], **own["head"]} if own else received["parameters"]
    return {name: known.get(name, value) for name, value in initial.items()}


def expected(received: Tree, info: object) -> Tree:
    """The body and one number of its type."""
    first = next(iter(received["parameters"].values()))
    return {**received, "coefficients": first.new_zeros(1)}


def aligned_step(
    model: Model, body: Params, batch: Batch, head: Params, means: Tensor, rate: Tensor
) -> Params:
    """θ ← θ − rate ∇ E ‖f(x; θ) − p_y‖²/d."""
    return descend(body, gradient(_apart)(body, model, batch, head, means), rate)


def _apart(body: Params, model: Model, batch: Batch, head: Params, means: Tensor) -> Tensor:
    """E ‖f(x; θ) − p_y‖²/d on a mini-batch."""
    found = head_of(model).train_features({**body, **head}, batch.x)
    return ((found - means[batch.y]).square().mean(1) * batch.weight).sum()
