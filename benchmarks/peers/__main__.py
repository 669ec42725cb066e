"""fedkin against other simulators and against the machine: seconds a round, in turn, medians and
ratios.

    FEDKIN_DATA=DIR python -m benchmarks.peers [--workloads linear,hidden,cnn]
        [--peers pfl,flower,by_hand] [--rounds 6] [--methods pfedme,cgpfl,ditto]
        [--repeat 3] [--json]

The peers are those of `pip install '.[bench]'` that are there; nothing is installed. Every
peer is a process of its own; they take turns, and each round but a run's first is a measurement.
The machine's own speed changes from minute to minute: ratios are those within a turn of everybody,
and of all turns the median. `by_hand` is a plain torch loop. It and pfl are one process each, so
they are compared with fedkin's one worker; Flower's actors with as many workers as cores.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.peers.workload import WORKLOADS, write

PEERS = {"pfl": "pfl_simulation", "flower": "flower_simulation", "by_hand": "by_hand"}
NEEDS = {"pfl": ("pfl",), "flower": ("flwr", "ray"), "by_hand": ()}
ONE_PROCESS = "pfl", "by_hand"
ONE_WORKER = "fedkin fedavg, 1 worker"
OURS = "fedavg", "pfedme", "cgpfl", "ditto"  # against the machine; the first one against the peers
PRODUCTS = "torch", "fastest"
ALIKE = (
    0.03  # mean accuracies after the last round may differ so much: batches are drawn differently
)


def lacking(peer: str) -> list[str]:
    """The packages that a peer needs and that are not there."""
    return [name for name in NEEDS[peer] if importlib.util.find_spec(name) is None]


def call(module: str, *arguments: object) -> dict[str, Any]:
    """The JSON that a module of this package prints last. One thread a process."""
    command = [sys.executable, "-m", f"benchmarks.peers.{module}", *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{module} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def machine(workload: str, method: str) -> dict[str, float]:
    """Seconds of a round's products with all cores at work: torch's, and the fastest."""
    command = [sys.executable, "-m", "benchmarks.peers.roofline", workload, method]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    cores = os.cpu_count() or 1
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(cores)
    ]
    told = [json.loads(process.communicate()[0].strip().splitlines()[-1]) for process in running]
    return {whose: statistics.mean(each[whose] for each in told) / cores for whose in PRODUCTS}


def measure(
    workload: str, present: list[str], methods: list[str], rounds: int, repeat: int, file: Path
) -> dict[str, dict[str, Any]]:
    """{who: {seconds, ratio, torch, fastest, accuracy}} of one workload: medians of a round's
    seconds, of how many times fedkin's FedAvg with as many processes these are, and of the share
    that its products alone would take, torch's and the fastest.
    """
    write(workload, file)
    seconds: dict[str, list[list[float]]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    accuracy: dict[str, float] = {}
    for _ in range(repeat):
        turns: dict[str, tuple[object, ...]] = {
            peer: (PEERS[peer], workload, file, rounds) for peer in present
        }
        turns |= {
            f"fedkin {method}": ("ours", workload, method, os.cpu_count() or 1, rounds)
            for method in methods
        }
        turns[ONE_WORKER] = "ours", workload, "fedavg", 1, rounds
        for who, (module, *arguments) in turns.items():
            told = call(str(module), *arguments)
            seconds[who].append(told["seconds"][1:])
            accuracy[who] = told["accuracy"]
        now = {who: statistics.median(each[-1]) for who, each in seconds.items()}
        products = {method: machine(workload, method) for method in methods}
        for who in now:
            beside = ONE_WORKER if who in ONE_PROCESS else "fedkin fedavg"
            ratios[who].append(now[who] / now[beside])
            for whose, spent in products[method_of(who)].items():
                shares[who, whose].append(spent / now[who])
    return {
        who: {
            "seconds": statistics.median(chain.from_iterable(seconds[who])),
            "ratio": statistics.median(ratios[who]),
            **{whose: statistics.median(shares[who, whose]) for whose in PRODUCTS},
            "accuracy": accuracy[who],
        }
        for who in seconds
    }


def method_of(who: str) -> str:
    """What a row's runs computed: peers compute FedAvg."""
    return who.removeprefix("fedkin ").split(",")[0] if who.startswith("fedkin") else "fedavg"


def lines(workload: str, found: dict[str, dict[str, Any]]) -> list[str]:
    """The rows of a workload's table."""
    ours = found["fedkin fedavg"]
    rows = []
    for who, each in found.items():
        odd = abs(each["accuracy"] - ours["accuracy"]) > ALIKE and method_of(who) == "fedavg"
        shares = " | ".join(f"{each[whose]:.0%}" for whose in PRODUCTS)
        numbers = (
            f"{each['seconds']:.3f} | {each['ratio']:.3g} | {shares} | {100 * each['accuracy']:.1f}"
        )
        rows.append(f"| {workload} | {who} | {numbers}{' (differs)' if odd else ''} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="of linear, hidden, cnn")
    parser.add_argument(
        "--peers", default=",".join(NEEDS), help="of pfl, flower, by_hand; '' for none"
    )
    parser.add_argument("--methods", default=",".join(OURS[1:]), help="fedkin's besides fedavg")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    wanted = [peer for peer in given.peers.split(",") if peer]
    methods = [*dict.fromkeys([OURS[0], *(name for name in given.methods.split(",") if name)])]
    workloads = given.workloads.split(",")
    for asked, known in ((wanted, set(NEEDS)), (workloads, set(WORKLOADS)), (methods, set(OURS))):
        if odd := [name for name in asked if name not in known]:
            parser.error(f"{odd[0]!r} is none of {', '.join(sorted(known))}")
    missing = [peer for peer in wanted if lacking(peer)]
    if missing:
        print(
            f"without {', '.join(missing)}: in the checkout, pip install '.[bench]' brings them",
            file=sys.stderr,
        )
    result: dict[str, Any] = {}
    if not given.json:
        head = [
            "workload",
            "who",
            "s a round",
            "× fedkin",
            "of torch's products",
            "of the fastest",
            "accuracy",
        ]
        print(f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", sep="\n")
    for workload in workloads:
        with tempfile.TemporaryDirectory() as folder:
            present = [peer for peer in wanted if peer not in missing]
            found = measure(
                workload, present, methods, given.rounds, given.repeat, Path(folder) / "work.npz"
            )
        result[workload] = found
        if not given.json:
            print(*lines(workload, found), sep="\n", flush=True)
    if given.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
