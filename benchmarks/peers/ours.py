"""The workload in fedkin.

python -m benchmarks.peers.ours WORKLOAD METHOD WORKERS ROUNDS
"""

import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.peers.workload import specification
from fedkin.experiment.run import run
from fedkin.report.records import opened
from fedkin.report.scores import curves


def main(name: str, method: str, workers: int, rounds: int) -> None:
    ends = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run(
            specification(name, rounds, method, workers),
            out,
            progress=lambda _: ends.append(time.perf_counter()),
        )
        with opened(out) as record:
            accuracy = curves(record)["personal"].test[rounds - 1]
    # from one round's end to the next one's: whatever is between them, writing included, is counted
    print(
        json.dumps({"seconds": [b - a for a, b in pairwise(ends)][:rounds], "accuracy": accuracy})
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
