"""Per-FedAvg with its finished model adapted to test samples, as PersFL's authors' code has it.

    python -m benchmarks.adapted_on_test RUN [RUN …]

``RUN``: finished runs of per_fedavg, for instance of `fedkin reproduce persfl-table-3 --rows
ds1-per_fedavg`. That code (pFedMe's `train_one_step`, called before a user is scored) takes two
mini-batches of a user's TEST samples, with their labels, and a step on each from the global model:
with the inner rate, then with β (`method.inner_lr` and `train.lr`). The score is of all test
samples, those two batches among them. So this is a reading of a published number and nothing to
report of a method.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from fedkin.api import Result
from fedkin.runs.directory import of_run


def adapted(module: nn.Module, x: Tensor, y: Tensor, rates: Sequence[float], batch: int) -> None:
    """A step of each rate, each on the next mini-batch of (x, y); changes the module."""
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    batch = min(batch, len(order))  # no sample twice in a step
    for number, rate in enumerate(rates):
        chosen = order[(number * batch + torch.arange(batch)) % len(order)]
        loss = nn.functional.cross_entropy(module(x[chosen]), y[chosen])
        slopes = torch.autograd.grad(loss, list(module.parameters()))
        with torch.no_grad():
            for parameter, slope in zip(module.parameters(), slopes, strict=True):
                parameter -= rate * slope


def scores(folder: Path) -> tuple[float, float]:
    """Means over clients, in percent: as fedkin measures it, and adapted to test samples."""
    result = Result(folder)
    summary = result.summary
    hyper = summary["hyper"]
    rates = [float(hyper["inner_lr"]), float(hyper["lr"])]
    batch = of_run(folder).train.batch_size
    ours, theirs = [], []
    for client in range(summary["clients"]):
        x, y = result.data(client, "test")
        ours.append(_accuracy(result.personal(client), x, y))
        module = result.personal(client, "global")
        module.requires_grad_(True)
        adapted(module, x, y, rates, batch)
        theirs.append(_accuracy(module, x, y))
    return 100 * statistics.mean(ours), 100 * statistics.mean(theirs)


def _accuracy(module: nn.Module, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float((module(x).argmax(1) == y).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="finished runs of per_fedavg")
    found = [scores(folder) for folder in parser.parse_args().runs]
    for name, values in zip(("training samples", "test samples"), zip(*found, strict=True)):
        spread = statistics.stdev(values) if len(values) > 1 else float("nan")
        each = ", ".join(f"{value:.2f}" for value in values)
        print(f"adapted to {name}: {statistics.mean(values):.2f} ± {spread:.2f} ({each})")


if __name__ == "__main__":
    main()
