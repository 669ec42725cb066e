"""What a run costs, counted and not timed: recorded graphs, operations of a step, calls of steps.

A number may fall: then it is lowered here. It must not rise unnoticed.
"""

from pathlib import Path

import pytest

from fedkin.assemble import assemble, host_of
from fedkin.core.trace import Replay, Runtime
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transport import InProcess
from tests.engine.small import small

# Digits, logistic regression, 4 clients, 4 local steps, 2 rounds: (graphs, operations of all graphs, calls of steps).
# FedAvg: one graph, 2 · 4 · 4 calls. PersFL: a grid of two λ and two T shares one graph, its teachers have the other.
COST = {
    "fedavg": (1, 25, 32),
    "pfedme": (1, 97, 32),
    "cgpfl": (1, 97, 32),
    "ditto": (2, 69, 64),
    "ppfl": (1, 59, 32),
    "comet": (1, 52, 32),
    "persfl": (2, 67, 308),
    "apfl": (2, 101, 40),
    "fedem": (1, 54, 32),
    "per_fedavg": (2, 137, 36),
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
    parts = assemble(small(method, run__clients=4, run__participation=1.0))
    host = host_of(parts, sorted(parts.infos), Path())
    host.runtime = runtime = Counting("trace")
    coordinator = Coordinator(parts.method, parts.federation, InProcess(host))
    coordinator.setup()
    for number in (1, 2):
        coordinator.round(number, evaluate=False)
    coordinator.finish(3)
    return runtime.graphs, runtime.operations, runtime.calls


@pytest.mark.parametrize("method", COST)
def test_a_run_costs_no_more_than_it_did(method):
    assert all(now <= before for now, before in zip(cost(method), COST[method], strict=True)), cost(method)
