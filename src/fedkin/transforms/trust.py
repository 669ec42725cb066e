"""Trust in updates that point where the server's own one does, from a public set with labels.

Source: Cao, Fang, Liu & Gong: FLTrust: Byzantine-robust federated learning via trust bootstrapping,
2021, Algorithm 2 (section 4).
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from fedkin.core.aggregation import (
    Combined,
    Contributions,
    EachClient,
    Reply,
)
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Positive
from fedkin.core.kinds import PARAMETERS
from fedkin.core.method import FederationInit, Method, ServerContext, public_set, updated
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree, named_leaves
from fedkin.transforms.reported_scores import telling
from fedkin.transforms.robust import KEPT
from fedkin.transforms.setting import Change, Setting, first_exchange, replaceable_mean
from fedkin.transforms.updates import base_in, flattened, unflattened


def trust(*, lr: Positive, steps: Count = 10, batch_size: Count = 32) -> Change:
    """Updates count by the cosine to the server's own update, and have its length.

    lr, steps, batch_size: of the server's own training on the public set in every round; the paper
    takes those of clients.
    """

    def change(method: Method, setting: Setting) -> Method:
        summed = replaceable_mean(method, "trust", setting)
        if summed.kinds != (PARAMETERS,):
            raise FedkinError(
                f"transform trust trains the model that is shared, and {method.name} sums "
                f"{', '.join(summed.kinds)}: try fedavg"
            )
        inner = telling(method)

        def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
            received = inner.broadcast(state, setting.first)
            own = _trained(received[PARAMETERS], server, lr, steps, batch_size)

            rule = summed._replace(rule=lambda given: by_trust(given, own))
            return updated(inner._replace(aggregation=rule), state, replies, server)

        def check(start: FederationInit, participants: int) -> None:
            method.check(start, participants)
            _, sent = first_exchange(method, setting, start)
            if len(start.parameters) > 1 or not _whole(sent, next(iter(start.parameters.values()))):
                raise FedkinError(
                    "transform trust trains one whole model at the server, and clients of "
                    f"{method.name} send parts of one, or several: try fedavg"
                )

        return inner._replace(aggregation=EachClient(), server_update=server_update, check=check)

    return change


def by_trust(given: Contributions, own: Params) -> Combined:
    """base + Σ s_k (‖g‖ / ‖g_k‖) g_k / Σ s_k with s_k = max(0, cos(g_k, g)); g is the server's own
    update. Nobody who is trusted: the base.

    Args:
        given: The replies of a round.
        own: The server's model after its own training.

    Returns:
        "kept" is a client's trust beside the largest one.
    """
    clients = list(given.replies)
    like = given.replies[clients[0]].message
    first = given.received(clients[0])
    direction = flattened({PARAMETERS: own}) - flattened({PARAMETERS: first[PARAMETERS]})
    base = base_in(given, clients[0])
    length = direction.norm()
    scores, total = [], torch.zeros_like(base)
    for client in clients:
        update = flattened(given.replies[client].message) - base_in(given, client)
        score, scaled = _trusted(update, direction, length)
        scores.append(score)
        total += score * scaled
    whole = sum(scores)
    combined = base + total / whole if whole > 0 else base
    most = max(scores)
    kept = {client: score / most if most > 0 else 0.0 for client, score in zip(clients, scores)}
    return Combined(unflattened(combined, like), {KEPT: kept})


def _trusted(update: Tensor, direction: Tensor, length: Tensor) -> tuple[float, Tensor]:
    """max(0, cosine), and the update with the length of the server's own."""
    norm = update.norm()
    if not bool(torch.isfinite(norm)) or not float(norm) * float(length) > 0:
        return 0.0, torch.zeros_like(update)
    return max(0.0, float(update @ direction / (norm * length))), update * (length / norm)


def _trained(w: Params, server: ServerContext, lr: float, steps: int, batch_size: int) -> Params:
    """The model after the server's own training on the public set."""
    (model,) = server.models.values()
    labels = server.public_y
    if labels is None:
        raise FedkinError("transform trust uses the labels of the public set")
    batches = server.rows(model, (public_set(server), labels), batch_size, steps, "trust")
    trained: Params = scan(_step, w, batches, lr * server.decay)
    return trained


def _step(model: Model, w: Params, rows: tuple[Tensor, Tensor], lr: Tensor) -> Params:
    x, y = rows
    weight = torch.full((len(x),), 1 / len(x), dtype=next(iter(w.values())).dtype)
    return descend(w, gradient(model.loss)(w, Batch(x, y, weight)), lr)


def _whole(sent: Tree, like: Params) -> bool:
    shapes = {path: leaf.shape for path, leaf in named_leaves(sent)}
    return shapes == {f"{PARAMETERS}/{name}": leaf.shape for name, leaf in like.items()}
