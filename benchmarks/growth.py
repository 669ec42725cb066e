"""What a run writes as its clients grow: bytes of notes in a round's record, and bytes of the
server's state in a commit.

    python -m benchmarks.growth [--sizes 100,1000,5000] [--methods fedavg,cgpfl] [--json]

40 participants a round and a linear model of 650 numbers; nobody is evaluated. Bytes of the third
round's notes from the server's side, as run.db has them, and of the state after it.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.scale import PARTICIPANTS, table

ROUNDS = 3
KEYS: dict[str, dict[str, Any]] = {"cgpfl": {"inner": 1}, "ppfl": {"models": 2}}


def written(method: str, clients: int, file: Path) -> dict[str, int]:
    """Bytes of the third round's notes, and of the server's state after it."""
    from fedkin.engine.codec import encode
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
                "model": {"name": "mlr"},
                "method": {"name": method, **KEYS.get(method, {})},
                "train": {"batch_size": 10, "steps": 2, "lr": 0.05},
                "run": {
                    "clients": clients,
                    "participation": PARTICIPANTS / clients,
                    "evaluate_every": 9,
                },
                "engine": {"name": "inprocess", "compile": "trace"},
            }
        )[0]
    )
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    coordinator = Coordinator(parts.method, parts.federation, transport)
    coordinator.setup()
    for number in range(1, ROUNDS + 1):
        record = coordinator.round(number)
    notes = [json.dumps(value) for by in record.server_metrics.values() for value in by.values()]
    return {"record": sum(map(len, notes)), "state": len(encode(coordinator.state))}


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
    print("| method | clients | kB of notes a round | kB of state a commit |\n|---|---|---|---|")
    for method, by in found.items():
        for size, each in by.items():
            record, state = each["record"] / 1e3, each["state"] / 1e3
            print(f"| {method} | {int(size):,} | {record:,.1f} | {state:,.0f} |")


if __name__ == "__main__":
    main()
