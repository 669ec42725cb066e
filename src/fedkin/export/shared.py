"""The model that all clients of a run share, out of what its server has: no client's state, and no
sample, is needed.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.model import Model
from fedkin.core.tree import Tree, map_tree, named_leaves
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS
from fedkin.engine.untrained import NoSamples, same_leaf, shifted
from fedkin.export.exportable import SAMPLES, Exportable, samples_of
from fedkin.export.personal import Personal, tried, with_frozen
from fedkin.export.shared_card import card_of
from fedkin.setup.build import Assembled
from fedkin.setup.loaded_run import states_used
from fedkin.setup.snapshot import Snapshot

SHARED = "global"  # the view


class Served(NamedTuple):
    """A run, as its server has it. ``columns``: of the nodes' tables, where it never saw them.
    ``seen``: whether the clients' samples are here.
    """

    folder: Path
    parts: Assembled
    state: Tree
    at: Snapshot
    columns: tuple[str, ...] = ()
    seen: bool = True


def shared(run: Served) -> Exportable:
    """The shared model of a run.

    Args:
        run: The run, as its server has it.

    Returns:
        The model, which is no client's.

    Raises:
        FedkinError: The run is not finished, or its method has no shared model that the server
            alone could give.
    """
    parts = run.parts
    if not run.at.finished:
        raise FedkinError(
            f"{run.folder} is not finished (round {run.at.trained} of {parts.spec.run.rounds}): "
            "its shared model is there once it is, continue it first"
        )
    try:
        view = shared_view(parts.method, run.state, parts.models, parts.infos)
    except LookupError as error:
        own = "--client NAME" if run.seen else "fedkin deploy export NODE, at the node"
        why = error.args[0]
        raise FedkinError(
            f"{parts.method.name} has no shared model that the server alone could give: {why}; "
            f"take a client's own: {own}"
        ) from None
    model = parts.models[parts.infos[0].architecture]
    people = parts.population
    everybody = list(range(people.clients))
    with states_used(run.folder):
        personal = tried(Personal(model, view, parts.method.predict), made_up(people))
    return Exportable(
        None,
        personal,
        with_frozen(model, view),
        partial(card_of, run.folder, parts, run.at, SHARED, run.columns),
        partial(samples_of, "all", people, everybody) if run.seen else partial(made_up, people),
        people,
        parts.spec.data,
        made_up=not run.seen,
    )


def shared_view(
    method: Method, state: Tree, models: Mapping[str, Model], infos: Mapping[int, ClientInfo]
) -> Tree:
    """What the method gives every client as "global", where that comes from the server alone.

    No method declares it. The view is made for each client as if it had no samples and had never
    worked; it has to be the same for all, and to stay the same where what a client begins with is
    moved.

    Args:
        method: Any one.
        state: S, as the run left it.
        models: Every architecture, by name.
        infos: What each client knows of itself.

    Returns:
        A tree of parameters, the same for every client.

    Raises:
        LookupError: There is none; its text says why.
    """
    names = sorted({info.architecture for info in infos.values()})
    if len(names) > 1 or names[0] not in models:
        raise LookupError("its clients have models of several architectures")
    model = models[names[0]]
    moved = model._replace(initial=map_tree(shifted, model.initial))
    view = _shared_view(method, state, model, infos[0], move=False)
    for info in infos.values():
        if not _same(view, _shared_view(method, state, model, info, move=False)):
            raise LookupError("clients get different ones")
    if not _same(view, _shared_view(method, state, moved, infos[0], move=True)):
        raise LookupError("a part of it stays at the client")
    return view


def _shared_view(method: Method, state: Tree, model: Model, info: ClientInfo, move: bool) -> Tree:
    no_samples = cast(ClientContext, NoSamples(info, model))
    own = method.client(model.initial, info)
    received = method.broadcast(state, info.client)
    try:
        views = method.personal_models(
            received, map_tree(shifted, own) if move else own, no_samples
        )
    except Exception:  # of any kind: a method may do anything with samples
        raise LookupError("it makes its models of a client's samples") from None
    if SHARED not in views:
        raise LookupError(f"it gives clients no view {SHARED!r}")
    return views[SHARED]


def _same(some: Tree, others: Tree) -> bool:
    mine, theirs = dict(named_leaves(some)), dict(named_leaves(others))
    return mine.keys() == theirs.keys() and all(
        same_leaf(leaf, theirs[name]) for name, leaf in mine.items()
    )


def made_up(population: Population) -> Tensor:
    """Inputs in the form of the clients' samples, where none is here: [SAMPLES, …], always the
    same.

    Args:
        population: The run's, for the shape and type of a sample.

    Returns:
        [SAMPLES, …] of the samples' own type.
    """
    like, draw = population.x, torch.Generator().manual_seed(0)
    shape = (SAMPLES, *like.shape[1:])
    if like.is_floating_point():
        return torch.randn(shape, generator=draw, dtype=like.dtype)
    most = 2 if like.dtype in TOKENS else 256  # symbols 0 and 1 are in every vocabulary
    return torch.randint(0, most, shape, generator=draw, dtype=like.dtype)
