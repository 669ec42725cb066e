"""What a client more costs: 40 to 40,000 clients with 40 participants a round, and 10,000 personal
models on disk.

    python -m benchmarks.scale [--sizes 40,400,4000,40000] [--json]

Every size is a process of its own (engine inprocess); `s a round` is the median of the rounds after
the second without its evaluation, and `memory` the process's highest. Two evaluations are timed:
round 8's, of a panel of 400 clients (`[run] evaluate = "panel:400"`), and the last round's, of
everybody. Every client has 40 samples of 64 numbers. The last
row's clients have a personal model of 0.1 M parameters each (method ditto), all of them trained
once; states are on disk.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES, FEATURES, CLASSES, PARTICIPANTS = 40, 64, 10, 40
ROUNDS = 12
OFTEN = 4  # rounds between two evaluations of the panel; the first one prepares their steps
PANEL = 400
PERSONAL = 10_000


def table(clients: int, path: Path) -> None:
    """A data set of ``clients`` equal clients as one .npz file."""
    rng = np.random.default_rng(0)
    rows = clients * SAMPLES
    y = rng.integers(0, CLASSES, rows)
    x = rng.normal(size=(CLASSES, FEATURES))[y] + rng.normal(size=(rows, FEATURES))
    np.savez(path, x=x.astype(np.float32), y=y, client=np.repeat(np.arange(clients), SAMPLES))


def highest() -> float:
    """The most memory that this program had at once, in MB; ru_maxrss would count its parent's
    before it began.
    """
    return int(re.findall(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[0]) / 1024


def run(clients: int, file: Path, personal: bool) -> dict[str, float]:
    """One run, in this process; its data are made by another one, since the highest memory is
    measured.
    """
    from fedkin.experiment.run import run as run_experiment
    from fedkin.runs.spec import parse

    ends: list[float] = []
    seconds: dict[int, dict[str, float]] = {}

    def see(record: Any) -> None:
        ends.append(time.perf_counter())
        if record.phase == "round":
            seconds[record.round] = record.seconds

    with tempfile.TemporaryDirectory() as folder:
        rounds = 1 if personal else ROUNDS
        spec = parse(
            {
                "data": {"name": str(file)},
                "split": {"name": "natural", "train": 0.5, "val": 0.25, "test": 0.25},
                "model": {"name": "dnn", "hidden": 1350 if personal else 32},
                "method": {"name": "ditto" if personal else "fedavg"},
                "train": {"batch_size": 10, "steps": 2, "lr": 0.05},
                "run": {
                    "clients": clients,
                    "participation": 1.0 if personal else PARTICIPANTS / clients,
                    "rounds": rounds,
                    "evaluate_every": rounds if personal else OFTEN,
                    "evaluate": f"panel:{min(PANEL, clients)}",
                    "commit_every": 0.0,
                },
                "engine": {
                    "name": "inprocess",
                    "compile": "trace",
                    "state": "disk" if personal else "memory",
                },
            }
        )[0]
        began = time.perf_counter()
        run_experiment(spec, Path(folder) / "run", progress=see)
        whole = time.perf_counter() - began
    memory = highest()
    between = [b - a for a, b in pairwise(ends)]
    return {
        "seconds": whole if personal else statistics.median(between[1 : ROUNDS - 2]),
        "panel": float("nan") if personal else seconds[2 * OFTEN]["evaluation"],
        "everybody": seconds[rounds]["evaluation"],
        "memory": memory,
    }


def child(clients: int, *arguments: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scale.npz"
        table(clients, file)
        command = [
            sys.executable,
            "-m",
            "benchmarks.scale",
            "--one",
            str(clients),
            "--file",
            str(file),
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="40,400,4000,40000")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--personal", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run(given.one, given.file, given.personal)))
        return
    result: dict[str, Any] = {size: child(int(size)) for size in given.sizes.split(",")}
    first = next(iter(result.values()))
    result["personal"] = child(PERSONAL, "--personal")
    if given.json:
        print(json.dumps(result))
        return
    print(
        "| clients | s a round | × the first | s of an evaluation of everybody "
        f"| of a panel of {PANEL} | memory, MB |\n|---|---|---|---|---|---|"
    )
    for size, each in result.items():
        if size == "personal":
            print(
                f"| {PERSONAL:,}, models on disk | {each['seconds']:.1f} (whole run) | "
                f"| {each['everybody']:.1f} | | {each['memory']:.0f} |"
            )
        else:
            ratio = each["seconds"] / first["seconds"]
            print(
                f"| {int(size):,} | {each['seconds']:.4f} | {ratio:.2f} "
                f"| {each['everybody']:.2f} | {each['panel']:.2f} | {each['memory']:.0f} |"
            )


if __name__ == "__main__":
    main()
