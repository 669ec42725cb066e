"""What a run writes as its clients grow: bytes a round adds to run.db, and bytes of the server's
state in a commit.

    python -m benchmarks.growth [--sizes 100,1000,5000] [--methods fedavg,cgpfl] [--json]

40 participants a round, no evaluation between, a linear model of 650 numbers, a commit after each
round. Bytes of the third round; the state is the file that the third commit wrote.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.scale import PARTICIPANTS, table

ROUNDS = 4
KEYS: dict[str, dict[str, Any]] = {"cgpfl": {"inner": 1}, "ppfl": {"models": 2}}


def written(method: str, clients: int, file: Path) -> dict[str, int]:
    """Bytes of the third round's record, and of the server's state after it."""
    from fedkin.experiment.run import run
    from fedkin.runs.spec import parse

    sizes: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        spec = parse(
            {
                "data": {"name": str(file)},
                "split": {"name": "natural", "train": 0.5, "val": 0.25, "test": 0.25},
                "model": {"name": "mlr"},
                "method": {"name": method, **KEYS.get(method, {})},
                "train": {"batch_size": 10, "steps": 2, "lr": 0.05},
                "run": {
                    "clients": clients,
                    "participation": PARTICIPANTS / clients,
                    "rounds": ROUNDS,
                    "evaluate_every": ROUNDS,
                    "commit_every": 0.0,
                },
                "engine": {"name": "inprocess", "compile": "trace"},
            }
        )[0]

        def look(record: Any) -> None:
            server = [path.stat().st_size for path in out.glob("*/server.*.safetensors")]
            sizes.append(((out / "run.db").stat().st_size, max(server)))

        run(spec, out, progress=look)
    return {"record": sizes[3][0] - sizes[2][0], "state": sizes[3][1]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="100,1000,5000")
    parser.add_argument("--methods", default="fedavg,cgpfl,ppfl,fedfomo")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found: dict[str, dict[str, dict[str, int]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in given.sizes.split(","):
            file = Path(folder) / f"{size}.npz"
            table(int(size), file)
            for method in given.methods.split(","):
                found.setdefault(method, {})[size] = written(method, int(size), file)
    if given.json:
        print(json.dumps(found))
        return
    print("| method | clients | kB a round in run.db | kB of state a commit |\n|---|---|---|---|")
    for method, by in found.items():
        for size, each in by.items():
            record, state = each["record"] / 1e3, each["state"] / 1e3
            print(f"| {method} | {int(size):,} | {record:,.0f} | {state:,.0f} |")


if __name__ == "__main__":
    main()
