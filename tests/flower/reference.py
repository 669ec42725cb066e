"""One process in which chosen replies are lost: what a deployment with faults must come to."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np

from fedkin.data.population import Population
from fedkin.engine.op import Task, TaskResult
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.run import run
from fedkin.runs.spec import Spec
from tests.flower.cluster import Cluster, experiment, result

Pairs = Iterable[tuple[int, int]]  # (round, client)


def faulty(
    spec: Spec, out: Path, away: Pairs = (), rejected: Pairs = (), unreached: Pairs = ()
) -> Path:
    """``away``: work that never happened for the server. ``rejected``: work whose message the
    coordinator refused. ``unreached``: of those who were away, whom no message reached.
    """
    away, rejected, unreached = set(away), set(rejected), set(unreached)

    class Faulty(InProcess):
        def ask(self, op: str, round: int, orders: Iterable[Task]) -> Iterator[TaskResult]:
            orders = list(orders)
            works = op in ("introduce", "local", "finish")
            lost = {o.client for o in orders if works and (round, o.client) in away}
            for answer in super().ask(
                op, round, [order for order in orders if order.client not in lost]
            ):
                refused = op == "local" and (round, answer.client) in rejected
                yield TaskResult(answer.client, error="refused") if refused else answer
            for client in sorted(lost):
                reached = (round, client) not in unreached
                yield TaskResult(client, error="away", reached=reached)

    with patch("fedkin.experiment.local_backend.InProcess", Faulty):
        return run(spec, out)


def write_rows(path: Path, population: Population, client: int) -> None:
    """A client's rows as a file of its node."""
    arrays = {}
    for part in ("train", "val", "test"):
        x, y = population.part(client, part)
        arrays |= {f"x_{part}": x.numpy(), f"y_{part}": y.numpy()}
    np.savez(path, **arrays)


def same_bits(method: str, running: Cluster, folder: Path, rounds: int = 5) -> None:
    """A deployed run and a run in one process come to the same, and nothing happened on the way."""
    spec = experiment(method, run__rounds=rounds)
    running.train(spec)
    deployed = result(running.run())
    assert deployed == result(run(spec, folder / "plain"))
    assert not deployed["events"]
