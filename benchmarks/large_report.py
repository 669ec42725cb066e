"""What ``fedkin report`` costs for a run of many clients, whose record is made up.

    python -m benchmarks.large_report [--sizes 40000,400000] [--keep DIR]

The record: every client evaluated in 10 rounds and at the finish, two views, ten classes, and a
cluster told of 400 participants a round. Wall-clock and processor seconds are of the command, a
process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, CLASSES, PARTICIPANTS = 10, 10, 400


def record(folder: Path, clients: int) -> None:
    """A run directory with a record of so many clients."""
    from fedkin.runs.database import create, put_rows

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    counts = rng.multinomial(40, np.full(CLASSES, 1 / CLASSES), clients).tolist()
    people = [
        (k, f"client {k}", "mlr", 40, 10, 20, json.dumps(row)) for k, row in enumerate(counts)
    ]
    facts = {
        "method": "cgpfl",
        "hyper": {"clusters": 4},
        "seed": 0,
        "clients": clients,
        "rounds": ROUNDS,
        "participation": PARTICIPANTS / clients,
        "data": "made up",
        "split": "natural",
        "model": "mlr",
        "measure": "accuracy",
        "spec": {"run": {"clients": clients}},
        "finished": True,
    }
    database = create(folder / "run.db", facts, people)
    skill = rng.beta(8, 3, clients)
    with database.commit() as transaction:
        for at in range(ROUNDS + 2):
            phase = "setup" if at == 0 else "finish" if at > ROUNDS else "round"
            who = sorted(rng.choice(clients, PARTICIPANTS, replace=False).tolist())
            seconds = {"local": 1.0, "server": 0.1, "evaluation": 40.0, "total": 41.1}
            put_rows(transaction, "rounds", [(at, phase, json.dumps(who), json.dumps(seconds))])
            if at:
                put_rows(transaction, "metrics", scores(rng, skill, at))
                told = ((at, k, "cluster", str(k % 4)) for k in who)
                put_rows(transaction, "notes", told)
    database.close()


def scores(rng: Any, skill: Any, at: int) -> Iterator[tuple[Any, ...]]:
    """Rows of a round's metrics: the personal view is better, and gets better."""
    for view, gain in (("global", 0.2), ("personal", 0.3)):
        for split in ("val", "test"):
            rate = np.clip(skill * (0.6 + gain * at / ROUNDS), 0, 1)
            right = rng.binomial(20, rate) / 20
            for k, value in enumerate(right.tolist()):
                yield at, k, view, split, 1.5 - value, value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="40000,400000")
    parser.add_argument("--keep", type=Path, help="where to leave the run directories")
    given = parser.parse_args()
    print("| clients | s | processor s | page, MB | clients.csv, MB | memory, MB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as aside:
        for size in given.sizes.split(","):
            folder = (given.keep or Path(aside)) / f"clients-{size}"
            if not folder.exists():
                record(folder, int(size))
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, "-m", "fedkin", "report", str(folder)], check=True)
            wall = time.perf_counter() - began
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            page, table = (
                (folder / name).stat().st_size / 1e6 if (folder / name).exists() else 0.0
                for name in ("report.html", "clients.csv")
            )
            print(
                f"| {int(size):,} | {wall:.1f} | {spent:.1f} | {page:.1f} | {table:.1f} "
                f"| {after.ru_maxrss / 1024:.0f} |"
            )


if __name__ == "__main__":
    main()
