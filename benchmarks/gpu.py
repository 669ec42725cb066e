"""One client's local step on a GPU: replayed operation by operation, as one CUDA graph, compiled;
one client at a time and several side by side.

    python -m benchmarks.gpu [--device cuda] [--models dnn,vgg11] [--blocks 1,16] [--compile]
    python -m benchmarks.gpu --device cpu

The step is FedAvg's, plain SGD, on random pictures. Milliseconds a step and client, by the GPU's
own clock, medians over turns in which all ways of a line take their turn; 0 where a way failed,
which is said below the table. On a CPU: the compiled step, one client, one thread,
milliseconds of processor time.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, first_line
from fedkin.core.model import Batch, Model
from fedkin.core.ops import sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import leaves, map_tree, stack
from fedkin.engine.vmap.batcher import side_by_side
from fedkin.models.build import build
from fedkin.runtime.cuda_graph import Captures
from fedkin.runtime.device import CPU, device_named
from fedkin.runtime.precision import lowered
from fedkin.runtime.replay import Runtime

Flat = Callable[..., Sequence[Tensor]]
MODELS = [  # model, channels and side of a picture, mini-batch
    ("dnn", 1, 28, 20),
    ("cnn_comet", 3, 32, 64),
    ("vgg11", 3, 32, 64),
    ("resnet18", 3, 32, 64),
]
TURNS, STEPS = 7, 20


class Way(NamedTuple):
    """How a step is made."""

    name: str
    compiled: bool
    graph: bool
    precision: str = "float32"
    tf32: bool = True
    repeatable: bool = True


WAYS = [
    Way("replayed", False, False),
    Way("graph", False, True),
    Way("graph, no TF32", False, True, tf32=False),
    Way("graph, bfloat16", False, True, "bfloat16"),
    Way("graph, any order", False, True, repeatable=False),
    Way("compiled, graph", True, True),
]


class Uncaptured(Runtime):
    """Leaves it to the caller to make CUDA graphs."""

    def _captured(self, run: Flat) -> Flat:
        return run


def step_of(way: Way, model: Model, block: int, arguments: tuple[object, ...]) -> Flat:
    """The step of ``block`` clients as a function of its flat leaves."""
    flat = leaves(arguments)
    # it asks for the same bits every time: what a way asks for comes after it
    runtime = Uncaptured("always" if way.compiled else "trace", 0, flat[0].device)
    torch.backends.cudnn.allow_tf32 = way.tf32
    torch.backends.cudnn.deterministic = way.repeatable
    torch.backends.cudnn.benchmark = not way.repeatable
    torch.use_deterministic_algorithms(way.repeatable, warn_only=True)
    step = sgd_step if block == 1 else side_by_side(sgd_step, (True,))
    run = runtime.prepare(step, lowered(model, way.precision), arguments).one  # type: ignore[arg-type]
    if not way.graph:
        return run
    run(*flat)
    if runtime.said:
        raise RuntimeError(runtime.said[0])
    return Captures(flat[0].device).of(run, flat)


def arguments_of(
    model: Model, channels: int, side: int, rows: int, block: int, device: torch.device
) -> tuple[object, ...]:
    """A carry, a batch and the learning rate, on the device."""
    torch.manual_seed(0)

    def batch() -> Batch:
        x = torch.randint(0, 256, (rows, channels, side, side), dtype=torch.uint8)
        return Batch(x, torch.randint(0, 10, (rows,)), torch.full((rows,), 1 / rows))

    lr = torch.tensor(0.01, dtype=torch.float64)
    one: tuple[object, ...] = (model.initial, batch(), lr)
    if block > 1:
        live = torch.ones(block, dtype=torch.bool)
        batches = stack([batch() for _ in range(block)])
        one = (stack([model.initial] * block), (live, batches), lr)
    return tuple(map_tree(lambda leaf: leaf.to(device), part) for part in one)


def measured(steps: list[Flat | None], flat: list[Tensor], state: int) -> list[float]:
    """Milliseconds of one call of each, the first ``state`` leaves going on from call to call."""
    found: list[list[float]] = [[] for _ in steps]
    with torch.inference_mode():
        for _ in range(TURNS):
            for step, times in zip(steps, found, strict=True):
                if step is not None:
                    times.append(_timed(step, flat, state))
    return [median(times) if times else 0.0 for times in found]


def _timed(step: Flat, flat: list[Tensor], state: int) -> float:
    carry, rest = flat[:state], flat[state:]
    start, end = (
        torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        for _ in range(2)
    )
    torch.cuda.synchronize()
    start.record()
    for _ in range(STEPS):
        carry = list(step(*carry, *rest))
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / STEPS


def one_core(models: list[tuple[str, int, int, int]]) -> None:
    """The table of a CPU."""
    torch.set_num_threads(1)
    print("| model | batch | one core |\n|---|---|---|")
    for name, channels, side, rows in models:
        model = build(name, (channels, side, side), 10, Key(0))
        arguments = arguments_of(model, channels, side, rows, 1, CPU)
        step, flat = Runtime("always").prepare(sgd_step, model, arguments).one, leaves(arguments)
        with torch.inference_mode():
            step(*flat)
            times = []
            for _ in range(TURNS):
                start = time.process_time()
                step(*flat)
                times.append(1000 * (time.process_time() - start))
        print(f"| {name} | {rows} | {median(times):.2f} |", flush=True)


def one_gpu(
    device: torch.device, models: list[tuple[str, int, int, int]], blocks: list[int], compiles: bool
) -> None:
    """The table of a GPU."""
    ways = [way for way in WAYS if compiles or not way.compiled]
    Runtime("trace", 0, device)  # with its settings of torch
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}")
    print("| model | batch | block | " + " | ".join(way.name for way in ways) + " |")
    print("|---|---|---|" + "---|" * len(ways))
    failed: list[str] = []
    for name, channels, side, rows in models:
        model = build(name, (channels, side, side), 10, Key(0))
        for block in blocks:
            arguments = arguments_of(model, channels, side, rows, block, device)
            steps: list[Flat | None] = []
            for way in ways:
                try:
                    steps.append(step_of(way, model, block, arguments))
                except Exception as error:
                    steps.append(None)
                    failed.append(f"{name}, {block}, {way.name}: {first_line(error)}")
            times = measured(steps, leaves(arguments), len(leaves(arguments[0])))
            shown = " | ".join(f"{one / block:.3f}" for one in times)
            print(f"| {name} | {rows} | {block} | {shown} |", flush=True)
    print("\n".join(failed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu [cuda]")
    parser.add_argument("--compile", action="store_true", help="Inductor too, at minutes a model")
    parser.add_argument("--models", default="", help="some of the table's, a comma between [all]")
    parser.add_argument("--blocks", default="1,4,16", help="clients side by side [1,4,16]")
    given = parser.parse_args()
    blocks = [int(word) for word in given.blocks.split(",")]
    models = [one for one in MODELS if not given.models or one[0] in given.models.split(",")]
    if given.device == "cpu":
        one_core(models)
        return
    try:
        device = device_named(given.device)
    except FedkinError as error:
        raise SystemExit(str(error)) from None
    one_gpu(device, models, blocks, given.compile)


if __name__ == "__main__":
    main()
