"""What the checks of messages and of the server's state cost, beside the round that they are in.

    python -m benchmarks.checks [--rounds 20]

A check takes microseconds, which no clock tells beside a round's. So in every second round each
check is made 1 + 20 times, and the rounds' difference is divided by 20. Checked are the refusals of
``engine/acceptance.py`` (kinds, shapes, finite and bounded numbers, numbers far off) and those of
``engine/server_guard.py`` (a state that is finite).

Processor time of one process, since other work on the machine does not count; 40 clients of 400
samples of 64 numbers, an epoch a round, nobody evaluated; medians over the rounds of either kind
after the second.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

TIMES = 20
CLIENTS, SAMPLES, FEATURES, CLASSES = 40, 400, 64, 10
MODELS: dict[str, dict[str, Any]] = {
    "linear, 650 numbers": {"name": "mlr"},
    "hidden layer of 100": {"name": "dnn", "hidden": 100},
    "hidden layer of 1350": {"name": "dnn", "hidden": 1350},
}


def again(function: Callable[..., Any], times: int) -> Callable[..., Any]:
    """A function that does its work ``times`` times more."""

    def call(*given: Any, **named: Any) -> Any:
        for _ in range(times):
            function(*given, **named)
        return function(*given, **named)

    return call


@contextmanager
def made_again(times: int) -> Iterator[None]:
    """The checks of the server's side, each made ``times`` times more. The host checks what it
    sends too: that is not the server's.
    """
    from fedkin.engine import acceptance, coordinator, server_guard

    places = [
        (acceptance, "check_kinds"),
        (acceptance, "check"),
        (coordinator, "far_off"),
        (server_guard, "check_finite"),
    ]
    before = [getattr(module, name) for module, name in places]
    for (module, name), function in zip(places, before, strict=True):
        setattr(module, name, again(function, times))
    try:
        yield
    finally:
        for (module, name), function in zip(places, before, strict=True):
            setattr(module, name, function)


def measured(model: dict[str, Any], file: Path, rounds: int) -> tuple[float, float]:
    """(processor seconds of a round, of its checks), medians."""
    from fedkin.engine.coordinator import Coordinator
    from fedkin.engine.transports.base import InProcess
    from fedkin.runs.spec import parse
    from fedkin.setup.build import assemble, host_of

    parts = assemble(
        parse(
            {
                "data": {"name": str(file)},
                "split": {"name": "natural", "train": 0.5, "val": 0.25, "test": 0.25},
                "model": model,
                "method": {"name": "fedavg"},
                "train": {"batch_size": 20, "epochs": 1, "lr": 0.05},
                "run": {"clients": CLIENTS},
                "engine": {"name": "inprocess", "compile": "trace"},
            }
        )[0]
    )
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    one = Coordinator(parts.method, parts.federation, transport)
    one.setup()
    seconds: dict[int, list[float]] = {0: [], TIMES: []}
    for number in range(1, 2 * rounds + 3):
        times = TIMES * (number % 2)
        with made_again(times):
            began = time.process_time()
            one.round(number, evaluate=False)
            if number > 2:
                seconds[times].append(time.process_time() - began)
    whole, more = (statistics.median(found) for found in seconds.values())
    return whole, (more - whole) / TIMES


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, CLIENTS * SAMPLES)
    x = rng.normal(size=(CLASSES, FEATURES))[y] + rng.normal(size=(len(y), FEATURES))
    print("| model | a round, ms | its checks, ms | share |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checks.npz"
        client = np.repeat(np.arange(CLIENTS), SAMPLES)
        np.savez(file, x=x.astype(np.float32), y=y, client=client)
        for name, model in MODELS.items():
            whole, checks = measured(model, file, given.rounds)
            print(f"| {name} | {whole * 1e3:.1f} | {checks * 1e3:.2f} | {checks / whole:.1%} |")


if __name__ == "__main__":
    main()
