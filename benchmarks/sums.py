"""What a coordinator does with a round's messages: messages and megabytes a second.

    python -m benchmarks.sums [--clients 20] [--workers 2] [--repeat 5]

*one by one, in turn*: every message is decoded, checked and added by floating-point additions in
client order, as fedkin did before sums were exact. *one by one, exact*: the same, added as
integers: what a coordinator of nodes does. *partial sums*: one sum a worker is decoded and merged;
the workers' own additions are the row *at a worker*. The ways take turns; a row is the median.
Seconds are of the processor (one thread), so that other work on the machine counts little.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

import torch

from fedkin.core.sums.exact import ExactSum, unpacked
from fedkin.core.tree import Tree, weighted_mean
from fedkin.engine.codec import check, decode, encode

PARAMETERS = (100_000, 1_000_000, 10_000_000)
SAMPLES = 300.0  # of a client


def message(size: int, seed: int) -> Tree:
    """Parameters of a model of this size, in four tensors."""
    g = torch.Generator().manual_seed(seed)
    part = size // 4
    return {"parameters": {f"w{k}": 0.05 * torch.randn(part, generator=g) for k in range(4)}}


def in_turn(blobs: list[bytes], like: Tree) -> Tree:
    return weighted_mean(_arrived(blobs, like), [SAMPLES] * len(blobs))


def exact(blobs: list[bytes], like: Tree) -> Tree:
    total = ExactSum()
    for one in _arrived(blobs, like):
        total.add(one, SAMPLES)
    return total.mean()


def _arrived(blobs: list[bytes], like: Tree) -> list[Tree]:
    found = []
    for blob in blobs:
        found.append(decode(blob))
        check(found[-1], like)
    return found


def partial(parts: list[bytes]) -> Tree:
    total = ExactSum()
    for part in parts:
        total.merge(unpacked(decode(part)))
    return total.mean()


def at_worker(trees: list[Tree]) -> bytes:
    total = ExactSum()
    for tree in trees:
        total.add(tree, SAMPLES)
    return encode(total.packed())


def measured(size: int, clients: int, workers: int, repeat: int) -> dict[str, float]:
    """Processor seconds for all messages of a round, by way."""
    trees = [message(size, seed) for seed in range(clients)]
    blobs = [encode(tree) for tree in trees]
    parts = [at_worker(trees[worker::workers]) for worker in range(workers)]
    ways: dict[str, Callable[[], object]] = {
        "one by one, in turn (before)": lambda: in_turn(blobs, trees[0]),
        "one by one, exact": lambda: exact(blobs, trees[0]),
        "partial sums": lambda: partial(parts),
        "at a worker": lambda: at_worker(trees),
    }
    spent: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeat):
        for way, work in ways.items():
            began = time.process_time()
            work()
            spent[way].append(time.process_time() - began)
    return {way: statistics.median(each) for way, each in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| parameters | way | messages/s | MB/s |\n|---|---|---|---|")
    for size in PARAMETERS:
        for way, seconds in measured(size, given.clients, given.workers, given.repeat).items():
            rate = given.clients / seconds
            print(f"| {size / 1e6:g} M | {way} | {rate:,.0f} | {rate * size * 4 / 1e6:,.0f} |")


if __name__ == "__main__":
    main()
