"""The workload in fedkin.

python -m benchmarks.peers.ours WORKLOAD METHOD WORKERS ROUNDS

It prints JSON: of each round the seconds by the clock, and by the processor in this process, which
is the coordinator where there are worker processes; and the accuracy after the last round.
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
    ends: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run(
            specification(name, rounds, method, workers),
            out,
            progress=lambda _: ends.append((time.perf_counter(), time.process_time())),
        )
        with opened(out) as record:
            accuracy = curves(record)["personal"].test[rounds - 1]
    # from one round's end to the next one's: whatever is between them, writing included, is counted
    spent = [(b - a, d - c) for (a, c), (b, d) in pairwise(ends)][:rounds]
    seconds, processor = zip(*spent, strict=True)
    print(json.dumps({"seconds": seconds, "processor": processor, "accuracy": accuracy}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
