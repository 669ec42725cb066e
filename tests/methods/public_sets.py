"""What the golden tests of public-set methods share: mixed architectures, and which public rows
each step saw.
"""

from dataclasses import replace

import numpy as np
import torch

from fedkin.core.rng import Key
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference.model import accuracy, mean_loss

PUBLIC, BATCH, ROUNDS, LR = 12, 5, 5, 0.3
BOTH = ("dnn", "mlr")


def federation(method, kinds=BOTH, public=PUBLIC, **work) -> Federated:
    """Five clients; architectures take turns."""
    models = {kind: architecture(kind, seed=i) for i, kind in enumerate(kinds)}
    names = [kinds[k % len(kinds)] for k in range(5)]
    return Federated(method, population(public=public), models, architectures=names, **work).run(
        ROUNDS
    )


def starts(run):
    return {k: arrays(run.models[info.architecture].initial) for k, info in run.infos.items()}


def drawn(run, round, client, count, size, steps, purpose) -> list[np.ndarray]:
    """Positions, among ``count`` public rows, of each of a client's steps."""
    batches = run.host.data(round, client).rows((torch.arange(count),), size, steps, purpose)
    return list(batches.gather(0, steps)[0].numpy())


def drawn_by_server(run, round, size, steps, purpose) -> list[np.ndarray]:
    """The same of the server's steps, whichever model they are for."""
    tools = replace(run.coordinator.federation.tools, key=Key(run.seed, round))
    model = next(iter(run.models.values()))
    batches = tools.rows(model, (torch.arange(len(run.people.public)),), size, steps, purpose)
    return list(batches.gather(0, steps)[0].numpy())


def agree_personal(method, run, moment, personal):
    """Everybody's model, and the scores of the record."""
    for k, w in personal.items():
        agree(method, moment.own[k]["parameters"], w)
        x, y = run.data[k]["x_test"], run.data[k]["y_test"]
        agree_scores(method, moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
