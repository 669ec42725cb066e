"""What the matrix products and convolutions of one round cost by themselves, one thread a core and
all cores at once.

    python -m benchmarks.peers.roofline WORKLOAD METHOD

A round is run once, its steps recorded as fedkin records them; then each recorded step's products
alone are repeated, on the tensors that they had, and counted as often as the round calls the step.
Evaluation is one forward pass of every test sample through each of a client's models. Twice: as
torch's products, and as the faster of those and of fedkin's own
(``fedkin/runtime/operators.py``), each step's in one compiled call. What is above the latter is
everything else.
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
from torch.utils import _pytree as pytree

from benchmarks.peers.workload import specification
from fedkin.engine.codec import encode
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports.base import InProcess
from fedkin.runtime.compile import compiled, named
from fedkin.runtime.replay import Replay, Runtime
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of

aten = torch.ops.aten
PRODUCTS = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten.convolution.default,
    aten.convolution_backward.default,
}
SECONDS = 0.5  # each graph's products are repeated for so long, three times
ROWS = 128  # of a forward pass
COPIES = 4  # of the products in a compiled call, which costs some 10 µs by itself

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


def cost(products: list[Call]) -> tuple[float, float]:
    """Seconds that these products take: torch's, and the faster of those and of compiled ones."""

    def one_by_one() -> None:
        for product, arguments in products:
            product(*arguments)

    torchs = timed(one_by_one)
    return torchs, min(torchs, timed(together(products)) / COPIES)


def timed(call: Callable[[], object]) -> float:
    """Seconds of a call, the best of three stretches."""
    best = float("inf")
    with torch.inference_mode():
        call()
        for _ in range(3):
            began, times = time.perf_counter(), 0
            while time.perf_counter() - began < SECONDS:
                call()
                times += 1
            best = min(best, (time.perf_counter() - began) / times)
    return best


def together(products: list[Call]) -> Callable[[], object]:
    """COPIES of all these products as one compiled call.

    The smallest factor of each is a tensor of its own, or equal products would be made once; of the
    others those of one shape are one tensor, as a step's weights are in one place of the cache.
    """
    shared: dict[Any, torch.Tensor] = {}
    calls, inputs = [], []
    for product, arguments in products * COPIES:
        leaves, shape = pytree.tree_flatten(arguments)
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        least = min(tensors[-2:], key=torch.Tensor.numel)
        inputs += [
            leaf.clone() if leaf is least else shared.setdefault((leaf.shape, leaf.stride()), leaf)
            for leaf in tensors
        ]
        calls.append((product, leaves, shape))

    def every(*flat: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rest, found = iter(flat), []
        for product, leaves, shape in calls:
            given = [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            found += pytree.tree_leaves(product(*pytree.tree_unflatten(given, shape)))
        return tuple(leaf for leaf in found if leaf is not None)

    graph = make_fx(every)(*inputs)
    run = compiled(named(graph), lambda: graph, inputs)
    return lambda: run(*inputs)


def seconds(name: str, method: str) -> tuple[float, float]:
    """Seconds of one round's products on one core: torch's, and the fastest."""
    parts = assemble(specification(name, 1, method))
    host = host_of(parts, sorted(parts.infos), Path())
    host.runtime = runtime = Counting()
    coordinator = Coordinator(parts.method, parts.federation, InProcess(host))
    coordinator.schedule = coordinator.schedule._replace(evaluated=lambda number, last: [])
    coordinator.setup()
    coordinator.round(1)
    (model,) = parts.models.values()
    x = parts.population.x[:ROWS]
    keeper = Keeper(make_fx(model.outputs)(model.initial, x))
    keeper.run(*model.initial.values(), x)
    tested = sum(len(rows) for rows in parts.population.test)
    views = {
        encode(view) for view in coordinator.views(0, 1).values()
    }  # such as a personal and a global model
    steps = [
        (runtime.calls[number], cost(found)) for number, found in runtime.products.items() if found
    ]
    steps.append((len(views) * tested / ROWS, cost(keeper.products)))
    return sum(times * torchs for times, (torchs, _) in steps), sum(
        times * best for times, (_, best) in steps
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    torchs, fastest = seconds(sys.argv[1], sys.argv[2])
    print(json.dumps({"torch": torchs, "fastest": fastest}))
