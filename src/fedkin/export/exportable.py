"""A personal model on its way out of where it was trained: what its files, its card and its
predictions are made of.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.tree import Tree
from fedkin.data.population import Population
from fedkin.export.card import card_of
from fedkin.export.opened_run import PERSONAL, Member, Opened
from fedkin.export.personal import Personal, with_frozen
from fedkin.runs.spec import DataSection

SAMPLES = 256  # test samples on which a file is compared with the model in the run


class Exportable(NamedTuple):
    """One client's model, or (``client`` None) the one that all share. ``view``: what the method
    predicts with for it. ``card`` and ``samples`` ([n, …] as in its data, for comparing) are made
    when they are asked for; ``made_up``: they are nobody's.
    """

    client: str | None
    personal: Personal
    view: Tree
    card: Callable[[], dict[str, Any]]
    samples: Callable[[], Tensor]
    population: Population
    data: DataSection
    made_up: bool = False


def exportable(opened: Opened, member: Member, name: str = PERSONAL) -> Exportable:
    """That of a client of a run, or of one that joined it.

    Args:
        opened: The run.
        member: Whose model.
        name: The name of one of its views.

    Returns:
        The model, with what its card and its comparison need.

    Raises:
        FedkinError: The view is not there; names those that are.
    """
    parts = opened.parts
    view = opened.view(member, name)
    personal = opened.deployed(member, view)
    # one that joined keeps its own samples to itself, and is compared on those of the run
    own = list(range(parts.population.clients)) if member.number is None else [member.number]
    samples = partial(samples_of, member.name, parts.population, own)
    return Exportable(
        member.name,
        personal,
        with_frozen(parts.models[opened.architecture(member)], view),
        partial(card_of, opened, member, name),
        samples,
        parts.population,
        parts.spec.data,
    )


def samples_of(name: str, population: Population, clients: list[int]) -> Tensor:
    """Samples of one of the clients: of the first that has some for testing, or for training.

    Args:
        name: What messages call the model's client.
        population: The run's.
        clients: Numbers of clients, asked in this order.

    Returns:
        At most SAMPLES samples [n, …], as in the data set.

    Raises:
        FedkinError: None of them has any.
    """
    for split in ("test", "train"):
        for client in clients:
            rows = population.rows(split)[client][:SAMPLES]
            if len(rows):
                return population.x[torch.from_numpy(rows)]
    raise FedkinError(f"client {name} has no samples to compare its exported model on")
