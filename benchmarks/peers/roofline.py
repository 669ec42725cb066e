"""What the matrix products and convolutions of one round cost by themselves, one thread a core and all cores at once.

    python -m benchmarks.peers.roofline WORKLOAD METHOD

A round is run once, its steps recorded as fedkin records them; then each recorded step's products alone are repeated,
on the tensors that they had, and counted as often as the round calls the step. Evaluation is one forward pass of every
test sample through each of a client's models. No library can be faster without other products; what is above this
time is everything else.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.experimental.proxy_tensor import make_fx

from benchmarks.peers.workload import specification
from fedkin.assemble import assemble, host_of
from fedkin.core.trace import Replay, Runtime
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transport import InProcess
from fedkin.engine.wire import encode

aten = torch.ops.aten
PRODUCTS = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten.convolution.default,
    aten.convolution_backward.default,
}
SECONDS = 0.5  # each graph's products are repeated for so long, three times
ROWS = 256  # of a forward pass

Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Keeper(Interpreter):
    """Runs a graph once and keeps its products with their inputs."""

    def __init__(self, graph: GraphModule) -> None:
        super().__init__(graph)
        self.products: list[Call] = []

    def run_node(self, n: Node) -> Any:
        if n.op == "call_function" and n.target in PRODUCTS:
            self.products.append((n.target, self.fetch_args_kwargs_from_env(n)[0]))  # type: ignore[arg-type]
        return super().run_node(n)


class Counting(Runtime):
    """A runtime that counts how often each recorded step is called, and keeps its products."""

    def __init__(self) -> None:
        super().__init__("trace")
        self.calls: Counter[int] = Counter()
        self.products: dict[int, list[Call]] = {}

    def _build(self, step: Any, model: Any, arguments: Any) -> Replay:
        forward: Any = super()._build(step, model, arguments).one
        graph, number = forward.__self__, len(self.products)
        self.products[number] = []

        def counted(*flat: torch.Tensor) -> Any:
            self.calls[number] += 1
            if self.calls[number] == 1:
                keeper = Keeper(graph)
                keeper.run(*flat)
                self.products[number] = keeper.products
            return forward(*flat)

        return Replay(counted)


def cost(products: list[Call]) -> float:
    """Seconds that these products take, the best of three stretches."""
    best = float("inf")
    with torch.inference_mode():
        for _ in range(3):
            began, times = time.perf_counter(), 0
            while time.perf_counter() - began < SECONDS:
                for product, arguments in products:
                    product(*arguments)
                times += 1
            best = min(best, (time.perf_counter() - began) / times)
    return best


def seconds(name: str, method: str) -> float:
    """Seconds of one round's products on one core."""
    parts = assemble(specification(name, 1, method))
    host = host_of(parts, sorted(parts.infos), Path())
    host.runtime = runtime = Counting()
    coordinator = Coordinator(parts.method, parts.federation, InProcess(host))
    coordinator.setup()
    coordinator.round(1, evaluate=False)
    total = sum(runtime.calls[number] * cost(found) for number, found in runtime.products.items() if found)
    (model,) = parts.models.values()
    x = parts.population.x[:ROWS]
    keeper = Keeper(make_fx(model.outputs)(model.initial, x))
    keeper.run(*model.initial.values(), x)
    tested = sum(len(rows) for rows in parts.population.test)
    views = {encode(view) for view in coordinator.views(0, 1).values()}  # such as a personal and a global model
    return total + cost(keeper.products) * len(views) * tested / ROWS


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({"seconds": seconds(sys.argv[1], sys.argv[2])}))
