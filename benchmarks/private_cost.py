"""``python -m benchmarks.private_cost``: a DP-SGD step beside the plain traced step, and a round
with client-level noise or a robust rule beside a plain one, alternated in one process.

A step is one of a client with a quarter of `digits` and batches of 64, its draws and noise
included; a round is one of fedavg with 40 clients. Opacus stands beside the step where it is
installed. Medians.
"""

import argparse
import importlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.page import line_of
from fedkin.core.method import updated
from fedkin.core.rng import seeded
from fedkin.core.tree import leaves
from fedkin.engine.contexts import ServerTools
from fedkin.runs.spec import parse
from fedkin.setup.build import Assembled, assemble
from fedkin.setup.hosts import host_of
from fedkin.setup.method_transforms import with_secret

HEAD = "| what | plain, ms | private, ms | times | Opacus, ms |\n|---|---:|---:|---:|---:|"
SAMPLE = {"unit": "sample", "clip": 1.0, "noise": 1.0, "delta": 1e-5}
CLIENT = {"clip": 1.0, "noise": 1.0, "delta": 1e-5}
STEPS = 40
RULES: dict[str, list[dict[str, Any]]] = {
    "norm_bound": [{"name": "norm_bound", "bound": 0.5}],
    "median": [{"name": "median"}],
    "trimmed_mean": [{"name": "trimmed_mean", "share": 0.2}],
    "geometric_median": [{"name": "geometric_median"}],
    "krum": [{"name": "krum", "attackers": 8, "chosen": 1}],
    "multi-krum": [{"name": "krum", "attackers": 8, "chosen": 25}],
}
MODELS: dict[str, dict[str, Any]] = {
    "step, mlr": {"name": "mlr"},
    "step, dnn (hidden 64)": {"name": "dnn", "hidden": 64},
}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--repeats", type=int, default=15)
    options = asked.parse_args()
    torch.set_num_threads(1)
    rows = [steps(name, model, options.repeats) for name, model in MODELS.items()]
    rows += rounds(options.repeats)
    print("\n".join([HEAD, *rows]))


def made(
    privacy: dict[str, Any] | None,
    clients: int,
    model: dict[str, Any],
    transforms: Sequence[dict[str, Any]] = (),
) -> Assembled:
    """fedavg on the digits of scikit-learn."""
    content: dict[str, Any] = {
        "data": {"name": "digits"},
        "split": {"name": "iid"},
        "model": model,
        "method": {"name": "fedavg"},
        "train": {"steps": STEPS, "batch_size": 64, "lr": 0.01},
        "engine": {"name": "inprocess", "compile": "trace"},
        "run": {"clients": clients, "rounds": 1, "participation": 1.0},
        "transforms": list(transforms),
    }
    if privacy is not None:
        content["privacy"] = privacy
    parts = assemble(parse(content)[0])
    return parts._replace(federation=with_secret(parts.federation, seeded(1)))


def work(parts: Assembled) -> Callable[[], Any]:
    """A round's work of client 0."""
    host = host_of(parts, sorted(parts.infos), Path())
    received = parts.method.broadcast(parts.method.server(parts.federation.start), 0)
    return lambda: parts.method.client_update(received, host.personal_state(0), host.data(1, 0))


def steps(name: str, model: dict[str, Any], repeats: int) -> str:
    """A row: milliseconds a step."""
    plain, private = work(made(None, 4, model)), work(made(SAMPLE, 4, model))
    calls = [plain, private, *_opacus(made(None, 4, model))]
    found = [1000 * seconds / STEPS for seconds in alternated(calls, repeats)]
    return _row(name, found)


def rounds(repeats: int) -> list[str]:
    """A row each: milliseconds a round, clients' work and the server's update."""
    model = {"name": "dnn", "hidden": 64}
    others = {"noise at the server": made(CLIENT, 40, model)}
    others |= {name: made(None, 40, model, rule) for name, rule in RULES.items()}
    calls = [_round(parts) for parts in (made(None, 40, model), *others.values())]
    plain, *each = (1000 * seconds for seconds in alternated(calls, repeats))
    return [
        _row(f"round of 40 clients, {name}", [plain, one])
        for name, one in zip(others, each, strict=True)
    ]


def _round(parts: Assembled) -> Callable[[], Any]:
    from fedkin.core.aggregation import Reply

    host, method = host_of(parts, sorted(parts.infos), Path()), parts.method
    state = method.server(parts.federation.start)
    tools: ServerTools = parts.federation.tools

    def once() -> None:
        replies = {}
        for client in parts.infos:
            received = method.broadcast(state, client)
            _, sent = method.client_update(
                received, host.personal_state(client), host.data(1, client)
            )
            replies[client] = Reply(sent, float(parts.infos[client].samples))
        updated(method, state, replies, replace(tools, key=tools.key._replace(round=1)))

    return once


def alternated(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The median seconds of each, in turn; the first call of each is not measured."""
    for call in calls:
        call()
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, seconds in zip(calls, taken, strict=True):
            began = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - began)
    return [median(seconds) for seconds in taken]


def _opacus(parts: Assembled) -> list[Callable[[], Any]]:
    """The same steps by Opacus; nothing where it is not installed."""
    try:
        engine = importlib.import_module("opacus").PrivacyEngine()
    except ImportError:
        return []
    population = parts.population
    index = torch.from_numpy(population.train[0])
    x = population.x[index].flatten(1).float() / 16
    samples = torch.utils.data.TensorDataset(x, population.y[index].long())
    shapes = [tuple(leaf.shape) for leaf in leaves(next(iter(parts.models.values())).initial)]
    layers = [torch.nn.Linear(shape[1], shape[0]) for shape in shapes if len(shape) == 2]
    parted = [layer for one in layers for layer in (one, torch.nn.ReLU())][:-1]
    model = torch.nn.Sequential(*parted)
    loader = torch.utils.data.DataLoader(samples, batch_size=min(64, len(samples)))
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        data_loader=loader,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    passes = math.ceil(STEPS / len(loader))

    def once() -> None:
        done = 0
        for _ in range(passes):
            for rows, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(rows), labels).backward()
                optimizer.step()
                done += 1
                if done == STEPS:
                    return

    return [once]


def _row(name: str, found: list[float]) -> str:
    plain, private, *other = found
    cells = [f"{plain:.3g}", f"{private:.3g}", f"{private / plain:.2f}"]
    return line_of([name, *cells, *([f"{other[0]:.3g}"] if other else [""])])


if __name__ == "__main__":
    main()
