"""What each sample costs each model: the numbers that attacks on membership start from."""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.kinds import PARAMETERS
from fedkin.core.method import Method, plain_prediction
from fedkin.core.model import Model
from fedkin.core.tree import Tree, named_leaves
from fedkin.data.arrays import Array
from fedkin.engine.contexts import LocalData
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.evaluation import Predict
from fedkin.engine.host import Host
from fedkin.engine.transports.base import one_thread
from fedkin.runtime.generators import drawing_from

PERSONAL, MESSAGE = "personal", "message"  # what is attacked, beside other views of the method


class Exposed(NamedTuple):
    """A model that somebody sees of a client: a view that it would deploy, or what it sends."""

    model: Model
    view: Tree
    predict: Predict

    def losses(self, x: Tensor, y: Tensor) -> Array:
        """Loss of each sample [n], in nats; squared errors where labels are numbers.

        Args:
            x: Samples [n, …].
            y: Their labels [n].

        Returns:
            float64 [n]; infinite where the model says no number.
        """
        with torch.inference_mode(), one_thread():
            predictions = self.predict(self.model, self.view, x)
            if self.model.family.classes:
                per_sample = -predictions.gather(1, y[:, None])[:, 0]
            else:
                per_sample = (
                    (predictions.reshape(len(y), -1) - y.reshape(len(y), -1)).square().sum(1)
                )
        losses: Array = per_sample.double().numpy()
        return np.where(np.isnan(losses), np.inf, losses)


class Observed(NamedTuple):
    """What is seen of a client: models by target, its message, and what it was sent."""

    models: Mapping[str, Exposed]
    message: Tree
    received: Tree


def seen(
    coordinator: Coordinator, host: Host, client: int, number: int, trained: int | None = None
) -> Observed:
    """What is seen of a client after round ``number``: its views, and what it would send next.

    Nothing is kept of the work that makes the message.

    Args:
        coordinator: Of a finished run.
        host: It has the client.
        client: Its number.
        number: The last planned round.
        trained: The last one that trained, where training ended earlier.

    Returns:
        A model a target: the views of the method, and "message" where clients send whole models.
    """
    method, model = host.method, host.models[host.infos[client].architecture]
    views = coordinator.views(client, number + 1, trained)
    received = method.broadcast(coordinator.state, client)
    data = host.training(number + 1 if trained is None else trained + 1, client)
    message = _message(host, method, received, data)
    models = {name: Exposed(model, view, method.predict) for name, view in views.items()}
    sent = message.get(PARAMETERS)
    if isinstance(sent, dict) and _fits(sent, model.initial):
        models[MESSAGE] = Exposed(model, sent, plain_prediction)
    return Observed(models, message, received)


def _message(host: Host, method: Method, received: Tree, data: LocalData) -> Tree:
    """What a client would send; nothing where it needs a secret that an audit has not (masks)."""
    own = host.personal_state(data.info.client)
    drawn = drawing_from(data.key.integer("local:dropout"), host.device)
    with drawn, one_thread(), suppress(FedkinError):
        return method.client_update(received, own, data)[1]
    return {}


def _fits(sent: Tree, like: Tree) -> bool:
    leaves, wanted = dict(named_leaves(sent)), dict(named_leaves(like))
    return leaves.keys() == wanted.keys() and all(
        getattr(leaves[name], "shape", None) == leaf.shape for name, leaf in wanted.items()
    )
