"""One local step with torch's operations, with fedkin's own products, and with all that are its
own: compiled alike, in turn.

    python -m benchmarks.own_operators [--turns 12]

What is compiled is the step of plain SGD of each model of ``CASES``, as a run compiles it
(``fedkin/runtime/operators.py``). One thread; milliseconds of processor time, medians over turns.
The ratio is of the last two.
"""

import argparse
import time
from statistics import median

import torch
from torch import Tensor

from fedkin.core.model import Batch
from fedkin.core.ops import sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import fill, leaves
from fedkin.models.build import build
from fedkin.runtime.code_cache import compiler_folder
from fedkin.runtime.compile import Flat, _fused, _library, _loaded
from fedkin.runtime.operators import KINDS, settings, with_own
from fedkin.runtime.replay import _recorded

CASES = [  # model, channels and side of a picture, mini-batch
    ("cnn_comet", 3, 32, 64),
    ("cnn_persfl", 3, 32, 32),
    ("cnn_persfl", 1, 28, 32),
    ("cnn_cgpfl", 3, 32, 20),
    ("dnn", 1, 28, 20),
]
WAYS: list[tuple[str, ...]] = [(), ("small_matmul",), tuple(KINDS)]
STEPS = 20  # of one turn


def measured(name: str, channels: int, side: int, rows: int, turns: int) -> list[float]:
    """Milliseconds of one step in each way."""
    torch.manual_seed(0)
    model = build(name, (channels, side, side), 10, Key(0))
    x = torch.randint(0, 256, (rows, channels, side, side), dtype=torch.uint8)
    batch = Batch(x, torch.randint(0, 10, (rows,)), torch.full((rows,), 1 / rows))
    arguments = (model.initial, batch, torch.tensor(0.05))
    inputs = [leaf.clone() for leaf in leaves(arguments)]

    def run(*flat: Tensor) -> tuple[Tensor, ...]:
        return tuple(leaves(sgd_step(model, *fill(arguments, iter(flat)))))

    compiler_folder()
    graphs = [with_own(_fused(_recorded(run, inputs)), kinds) for kinds in WAYS]
    steps = [_loaded(_library(graph, inputs, settings(graph))) for graph in graphs]
    times: list[list[float]] = [[] for _ in WAYS]
    with torch.inference_mode():
        for _ in range(turns):
            for step, found in zip(steps, times, strict=True):
                found.append(_milliseconds(step, inputs))
    return [median(found) for found in times]


def _milliseconds(step: Flat, inputs: list[Tensor]) -> float:
    start = time.process_time()
    for _ in range(STEPS):
        step(*inputs)
    return 1000 * (time.process_time() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=12, help="turns, of each way once [12]")
    turns = parser.parse_args().turns
    torch.set_num_threads(1)
    print("| model | picture | batch | torch's | with products | with all | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, channels, side, rows in CASES:
        torchs, products, everything = measured(name, channels, side, rows, turns)
        print(
            f"| {name} | {channels} × {side} × {side} | {rows} | {torchs:.2f} | {products:.2f} "
            f"| {everything:.2f} | {products / everything:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
