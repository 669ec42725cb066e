"""What the checks of messages and of the server's state cost, beside the round that they are in.

    python -m benchmarks.checks [--rounds 20] [--models linear,cnn]

A check takes microseconds, which no clock tells beside a round's. So in every second round each
check is made 1 + 20 times, and the rounds' difference is divided by 20. Checked are the refusals of
``engine/codec.py`` (kinds, shapes, finite and bounded numbers, both ways), ``engine/acceptance.py``
(the version, numbers far off) and ``engine/server_guard.py`` (a state that is finite).

The headers of ``flower/envelope.py``, which only a deployment has, are opened 2,000 times by
themselves: one request and one reply a client. They stand beside the same round, in one process,
though a deployment's takes longer.

Processor time of one process, since other work on the machine does not count; 40 clients of 400
samples of 64 numbers (the CNN's: 28 x 28 pixels), an epoch a round, nobody evaluated; medians over
the rounds of either kind after the second. Needs the extra flower.
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
HEADERS = 2000
CLIENTS, SAMPLES, CLASSES = 40, 400, 10
NUMBERS, PIXELS = (64,), (1, 28, 28)
MODELS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "linear, 650 numbers": ({"name": "mlr"}, NUMBERS),
    "hidden layer of 100": ({"name": "dnn", "hidden": 100}, NUMBERS),
    "hidden layer of 1350": ({"name": "dnn", "hidden": 1350}, NUMBERS),
    "CNN of two convolutions": ({"name": "cnn_persfl"}, PIXELS),
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
    """The checks of both sides, each made ``times`` times more."""
    from fedkin.engine import acceptance, codec, host, server_guard
    from fedkin.engine.round import replies

    places = [
        (codec, "_bounded"),
        (host, "check_kinds"),
        (host, "check"),
        (acceptance, "check_kinds"),
        (acceptance, "check"),
        (replies, "check_version"),
        (replies, "far_off"),
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
    from fedkin.setup.build import assemble
    from fedkin.setup.hosts import host_of

    parts = assemble(
        parse(
            {
                "data": {"name": str(file)},
                "split": {"name": "natural", "train": 0.5, "val": 0.25, "test": 0.25},
                "model": model,
                "method": {"name": "fedavg"},
                "train": {"batch_size": 20, "epochs": 1, "lr": 0.05},
                "run": {"clients": CLIENTS, "evaluate_every": 1000},
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
            one.round(number)
            if number > 2:
                seconds[times].append(time.process_time() - began)
    whole, more = (statistics.median(found) for found in seconds.values())
    return whole, (more - whole) / TIMES


def headers() -> float:
    """Processor seconds that the headers of a round take to open: CLIENTS requests and replies."""
    from fedkin.flower.dispatcher import states_follow
    from fedkin.flower.envelope import (
        Base,
        Done,
        NodeReply,
        Place,
        RemoteStep,
        Request,
        opened,
        sealed,
    )

    digest, run = "0123456789abcdef" * 4, "0123456789abcdef"
    who = {"version": "0.0.0", "experiment": digest, "run": run, "name": "hospital_north"}
    request = Request(
        **who,
        place=Place(client=3, clients=CLIENTS, classes=CLASSES, architecture="mlr", data=digest),
        base=Base(round=6, digest=digest),
        keep=6,
        steps=(RemoteStep(op="local", round=7),),
    )
    own = Base(round=7, digest=digest)
    done = Done(op="local", round=7, weight=200.0, seconds=0.25, message=True, own=own)
    asked, told = sealed(request), sealed(NodeReply(**who, steps=(done,)))
    began = time.process_time()
    for _ in range(HEADERS):
        opened(Request, asked)
        states_follow(request, opened(NodeReply, told))
    return CLIENTS * (time.process_time() - began) / HEADERS


def samples(file: Path, shape: tuple[int, ...]) -> Path:
    """Every client's samples, around a centre of their class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, CLIENTS * SAMPLES)
    x = rng.normal(size=(CLASSES, *shape))[y] + rng.normal(size=(len(y), *shape))
    client = np.repeat(np.arange(CLIENTS), SAMPLES)
    np.savez(file, x=x.astype(np.float32), y=y, client=client)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--models", default="", help="words of their names; all if not given")
    given = parser.parse_args()
    words = given.models.split(",")
    chosen = {
        name: of for name, of in MODELS.items() if any(word in name.lower() for word in words)
    }
    sealed = headers()
    heads = ("model", "a round, ms", "checks, ms", "headers, ms", "checks", "with headers")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (model, shape)) in enumerate(chosen.items()):
            file = samples(Path(folder) / f"checks{number}.npz", shape)
            whole, checks = measured(model, file, given.rounds)
            times = [f"{1e3 * whole:.1f}", *(f"{1e3 * part:.2f}" for part in (checks, sealed))]
            shares = [f"{part / whole:.1%}" for part in (checks, checks + sealed)]
            print("| " + " | ".join((name, *times, *shares)) + " |", flush=True)


if __name__ == "__main__":
    main()
