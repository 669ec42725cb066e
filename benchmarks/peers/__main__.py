"""fedkin against other simulators and against the machine: seconds a round, in turn, medians and ratios.

    FEDKIN_DATA=DIR python -m benchmarks.peers [--workloads linear,hidden,cnn] [--rounds 6] [--repeat 3] [--json]

The peers are those of `pip install 'fedkin[bench]'` that are there; nothing is installed. Every peer is a process of
its own; they take turns, and each round but a run's first is a measurement.
`by_hand` is a plain torch loop on one core.
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
from pathlib import Path
from typing import Any

from benchmarks.peers.workload import WORKLOADS, write

PEERS = {"pfl": "pfl_simulation", "flower": "flower_simulation", "by_hand": "by_hand"}
NEEDS = {"pfl": ("pfl",), "flower": ("flwr", "ray"), "by_hand": ()}
OURS = "fedavg", "pfedme", "cgpfl", "ditto"  # against the machine; the first one against the peers
ALIKE = 0.03  # mean accuracies after the last round may differ so much: batches are drawn differently


def lacking(peer: str) -> list[str]:
    """The packages that a peer needs and that are not there."""
    return [name for name in NEEDS[peer] if importlib.util.find_spec(name) is None]


def call(module: str, *arguments: object) -> dict[str, Any]:
    """The JSON that a module of this package prints last. One thread a process."""
    command = [sys.executable, "-m", f"benchmarks.peers.{module}", *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{module} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def machine(workload: str, method: str) -> float:
    """Seconds of a round's products with all cores at work."""
    command = [sys.executable, "-m", "benchmarks.peers.roofline", workload, method]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    cores = os.cpu_count() or 1
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(cores)]
    told = [json.loads(process.communicate()[0].strip().splitlines()[-1])["seconds"] for process in running]
    return statistics.mean(told) / cores


def measure(workload: str, rounds: int, repeat: int, file: Path) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """{who: {seconds, accuracy}} of one workload, and by method the seconds of a round's products.

    Whoever lacks a package is not there. The machine's own speed changes as the runs' does: it takes its turns too.
    """
    present = [peer for peer in NEEDS if not lacking(peer)]
    write(workload, file)
    seconds: dict[str, list[float]] = defaultdict(list)
    accuracy: dict[str, float] = {}
    products: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeat):
        turns: dict[str, tuple[object, ...]] = {peer: (PEERS[peer], workload, file, rounds) for peer in present}
        turns |= {f"fedkin {method}": ("ours", workload, method, os.cpu_count() or 1, rounds) for method in OURS}
        turns["fedkin fedavg, 1 worker"] = "ours", workload, "fedavg", 1, rounds
        for who, (module, *arguments) in turns.items():
            told = call(str(module), *arguments)
            seconds[who] += told["seconds"][1:]
            accuracy[who] = told["accuracy"]
        for method in OURS:
            products[method].append(machine(workload, method))
    found = {who: {"seconds": statistics.median(seconds[who]), "accuracy": accuracy[who]} for who in seconds}
    return found, {method: statistics.median(each) for method, each in products.items()}


def lines(workload: str, found: dict[str, dict[str, Any]], products: dict[str, float]) -> list[str]:
    """The rows of a workload's table."""
    ours = found["fedkin fedavg"]
    rows = []
    for who, each in found.items():
        method = who.removeprefix("fedkin ").split(",")[0] if who.startswith("fedkin") else "fedavg"
        share = f"{products[method] / each['seconds']:.0%}"
        ratio = f"{each['seconds'] / ours['seconds']:.1f}"
        odd = abs(each["accuracy"] - ours["accuracy"]) > ALIKE and method == "fedavg"
        note = " (differs)" if odd else ""
        rows.append(
            f"| {workload} | {who} | {each['seconds']:.3f} | {ratio} | {share} | {100 * each['accuracy']:.1f}{note} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="of linear, hidden, cnn")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    missing = [peer for peer in NEEDS if lacking(peer)]
    if missing:
        print(f"without {', '.join(missing)}: pip install 'fedkin[bench]' brings them", file=sys.stderr)
    result: dict[str, Any] = {}
    if not given.json:
        print("| workload | who | s a round | × fedkin | of the roofline | accuracy |\n|---|---|---|---|---|---|")
    for workload in given.workloads.split(","):
        with tempfile.TemporaryDirectory() as folder:
            found, products = measure(workload, given.rounds, given.repeat, Path(folder) / "work.npz")
        result[workload] = {"measured": found, "products": products}
        if not given.json:
            print(*lines(workload, found, products), sep="\n", flush=True)
    if given.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
