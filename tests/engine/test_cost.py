"""What a run costs, counted and not timed: recorded graphs, operations of a step, calls of steps.

A number may fall: then it is lowered here. It must not rise unnoticed.
"""

from pathlib import Path

import pytest

from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports.base import InProcess
from fedkin.runtime.replay import Replay, Runtime
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small

# Digits, logistic regression, 4 clients, 4 local steps, 2 rounds: (graphs, operations of all
# graphs, calls of steps). FedAvg: one graph, 2 · 4 · 4 calls; the last evaluation's two, of 26
# operations each (blocks of 16 and of 128 rows), and 25 calls. PersFL: the students of a grid
# share one graph, which makes eight of them at once, its teachers have the other; what they are
# worth is looked at by the evaluation's. Mixtures (ppfl, fedem) are evaluated without a graph.
COST = {
    "fedavg": (3, 77, 57),
    "pfedme": (3, 149, 82),
    "cgpfl": (3, 149, 82),
    "ditto": (4, 121, 114),
    "ppfl": (1, 59, 32),
    "comet": (3, 104, 57),
    "persfl": (4, 142, 200),
    "apfl": (4, 145, 90),
    "fedem": (1, 54, 32),
    "per_fedavg": (4, 189, 86),
}


class Counting(Runtime):
    """Counts the calls of its steps."""

    calls = operations = 0

    def _build(self, step, model, arguments):
        forward = super()._build(step, model, arguments).one
        self.operations += sum(node.op == "call_function" for node in forward.__self__.graph.nodes)

        def counted(*flat):
            self.calls += 1
            return forward(*flat)

        return Replay(counted)


def cost(method):
    parts = assemble(small(method, run__clients=4, run__participation=1.0, run__evaluate_every=9))
    host = host_of(parts, sorted(parts.infos), Path())
    host.runtime = runtime = Counting("trace")
    coordinator = Coordinator(parts.method, parts.federation, InProcess(host))
    coordinator.setup()
    for number in (1, 2):
        coordinator.round(number)
    coordinator.finish(3)
    return runtime.graphs, runtime.operations, runtime.calls


@pytest.mark.parametrize("method", COST)
def test_a_run_costs_no_more_than_it_did(method):
    assert all(now <= before for now, before in zip(cost(method), COST[method], strict=True)), cost(
        method
    )
