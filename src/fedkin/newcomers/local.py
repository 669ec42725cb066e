"""Clients that were not in a run: a personal model for each of them, while nobody else works."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.kinds import KINDS
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key
from fedkin.core.tree import Tree
from fedkin.data.holdout import split_sizes
from fedkin.data.population import Population
from fedkin.engine.host import Host, Resources
from fedkin.engine.store import Memory
from fedkin.newcomers.protocol import Joined, LocalNewcomer, Standing, join
from fedkin.runs.bounds import finite
from fedkin.runs.spec import Spec
from fedkin.runtime.replay import Runtime
from fedkin.setup.architectures import architectures_of
from fedkin.setup.build import Assembled, schedule_of
from fedkin.setup.population import infos_of


class Learned(NamedTuple):
    """A run after ``round``: its objects, and the server's state. Newcomers share a runtime: equal
    steps, one trace.
    """

    parts: Assembled
    state: Tree
    round: int
    runtime: Runtime


def joined(
    run: Learned, own: Population, rounds: int | None, architecture: str | None = None
) -> tuple[Joined, LocalNewcomer]:
    """Let the one client of ``own`` join in this process.

    Args:
        run: The run, as it stands.
        own: The newcomer's samples, as the only client.
        rounds: Rounds of work, 0 or more; None: as many as its validation data choose, at most as
            many as the run has trained.
        architecture: One of the run's; None: what [model] says of so many samples.

    Returns:
        (what came of it, the newcomer, which can be asked for its model).

    Raises:
        FedkinError: Its samples, its architecture or the method do not fit, or it cannot work.
    """
    newcomer = _newcomer(run, own, architecture)
    (info,) = newcomer.host.infos.values()
    return join(standing(run, info, len(own.val[0])), newcomer, rounds, run.round), newcomer


def standing(run: Learned, info: ClientInfo, validation: int) -> Standing:
    """The server's side of a run that stands still, for one newcomer.

    Args:
        run: The run, as it stands.
        info: What the newcomer knows of itself.
        validation: How many validation samples it has.

    Returns:
        What ``join`` takes.

    Raises:
        FedkinError: The method chooses by validation, and the newcomer has no validation samples;
            or clients of the run add noise.
    """
    parts, method = run.parts, run.parts.method
    if method.needs.validation and not validation:
        who = "method.safe" if method.hyper.get("safe") else method.name
        raise FedkinError(f"{who} chooses by validation: the newcomer needs validation samples")
    check_accounted(parts.spec)
    seed = parts.spec.run.seed
    return Standing(
        method, run.state, run.round, parts.federation.tools, seed, info, validation > 0
    )


def check_accounted(spec: Spec) -> None:
    """Refuse a newcomer of a run whose clients add noise: each has its own, and its own ε.

    Args:
        spec: The run's.

    Raises:
        FedkinError: They do.
    """
    if spec.privacy.at_client:
        raise FedkinError(
            "clients of this run add noise, and nobody accounts for a newcomer: let it be a client "
            "of the next run"
        )


def place_for(run: Assembled, samples: int, architecture: str | None) -> tuple[int, str]:
    """The number and the architecture of a newcomer with so many training samples.

    Args:
        run: The run's objects.
        samples: How many training samples it has.
        architecture: One of the run's; None: what [model] says of so many samples.

    Returns:
        (the first number that no client has, the name of the architecture).

    Raises:
        FedkinError: The run has no such architecture.
    """
    number = len(run.infos)
    if architecture is None:
        return number, architectures_of(
            run.spec, [*(info.samples for info in run.infos.values()), samples]
        )[-1]
    if architecture not in run.models:
        raise unknown("architecture of this run", architecture, run.models)
    return number, architecture


def _newcomer(run: Learned, own: Population, architecture: str | None) -> LocalNewcomer:
    parts = run.parts
    _same_kind(own, parts.population)
    number, name = place_for(parts, len(own.train[0]), architecture)
    if name not in parts.models:
        raise FedkinError(
            f"no client of the run has the architecture {name}: choose one of "
            f"{', '.join(parts.models)}"
        )
    people = parts.population
    own = replace(own, classes=people.classes, public=people.public, public_y=people.public_y)
    info = infos_of(own, [name])[0]._replace(client=number)
    host = Host(
        method=parts.method,
        models=parts.models,
        infos={number: info},
        population=own.alone(number, number + 1),
        schedule=schedule_of(parts.spec),
        resources=Resources(run.runtime, Memory()),
        seed=parts.spec.run.seed,
        measure=parts.spec.run.measure,
    )
    return LocalNewcomer(host, number)


def held_out(run: Learned, done: int = 0) -> Iterator[list[dict[str, Any]]]:
    """[run] holdout_clients: every one joins, with few labelled samples and with all; beyond the
    first ``done`` ones.

    Args:
        run: The run, as it stands.
        done: How many clients have joined already.

    Yields:
        A client's results as plain values, one for each number of labelled samples (those that
        train and those that choose).
    """
    parts = run.parts
    if parts.held_out is None:
        return
    for client in range(done, parts.held_out.clients):
        yield _by_labels(
            run, parts.held_out.only([client]), Key(parts.spec.run.seed, client=client)
        )


def _by_labels(run: Learned, own: Population, key: Key) -> list[dict[str, Any]]:
    """What comes of a held-out client with each number of labelled samples, the last time all."""
    have = len(own.train[0]) + len(own.val[0])
    asked = [labels for labels in run.parts.spec.run.holdout_labels if labels < have]
    results = []
    for labels in (*sorted(set(asked)), None):
        part = own if labels is None else fewer(own, labels, key)
        outcome, _ = joined(run, part, None)
        results.append({"client": own.names[0], "asked": labels, **described(outcome, part)})
    return results


def fewer(own: Population, labels: int, key: Key) -> Population:
    """The first client with so many labelled samples, drawn from its training and validation ones
    in their ratio.

    Args:
        own: The first client's samples count.
        labels: How many labelled samples it keeps, of training and validation together.
        key: Draws them.

    Returns:
        A copy; test samples stay as they are.
    """
    sizes = [len(own.train[0]), len(own.val[0])]
    train, val = split_sizes(labels, [size / sum(sizes) for size in sizes])
    rng = key.numpy("labels")
    chosen = [
        np.sort(rng.permutation(rows)[:size])
        for rows, size in ((own.train[0], train), (own.val[0], val))
    ]
    return replace(own, train=(chosen[0],), val=(chosen[1],))


def described(outcome: Joined, own: Population) -> dict[str, Any]:
    """What is kept of a join in this process: JSON values.

    Args:
        outcome: What came of the join.
        own: The newcomer's samples.

    Returns:
        As of ``described_by``.
    """
    return described_by(outcome, len(own.train[0]), len(own.val[0]), len(own.test[0]))


def described_by(outcome: Joined, train: int, val: int, test: int) -> dict[str, Any]:
    """What is kept of a join of a client with so many samples: JSON values.

    Args:
        outcome: What came of the join.
        train: How many training samples the newcomer has.
        val: How many validation samples.
        test: How many test samples.

    Returns:
        {name: value}: losses are means per sample, accuracies fractions 0..1, "seconds" seconds,
        "bytes" bytes each way; None for a number that is not finite.
    """
    ways = {way: [one for one in outcome.sent if one.direction == way] for way in ("up", "down")}
    return {
        "train": train,
        "val": val,
        "test": test,
        "rounds": outcome.rounds,
        "place": outcome.place if outcome.places > 1 else None,
        "places": outcome.places,
        "chosen_by": outcome.chosen,
        "scores": {
            view: {
                split: {"loss": finite(loss), "accuracy": finite(right)}
                for split, (loss, right) in by.items()
            }
            for view, by in outcome.scores.items()
        },
        "measures": finite(outcome.measures),
        "notes": finite(outcome.notes),
        "bytes": {way: sum(one.bytes for one in sent) for way, sent in ways.items()},
        "scalars": {
            way: {
                kind: count for kind in KINDS if (count := sum(one.scalars[kind] for one in sent))
            }
            for way, sent in ways.items()
        },
        "seconds": outcome.seconds,
    }


def _same_kind(own: Population, others: Population) -> None:
    for what, mine, theirs in (
        ("shape", list(own.x.shape[1:]), list(others.x.shape[1:])),
        ("dtype", own.x.dtype, others.x.dtype),
        ("task", own.task, others.task),
    ):
        if mine != theirs:
            raise FedkinError(f"the newcomer's data have {what} {mine}, those of the run {theirs}")
    if own.classes and int(own.y.max()) >= others.classes:
        raise FedkinError(
            f"the newcomer has class {int(own.y.max())}, but the run has classes 0 to "
            f"{others.classes - 1}"
        )
