"""``python -m benchmarks.audits --runs 200 --out FILE``: is what canaries prove of ε ever above
what is accounted?

Each run is another seed of FedAvg with DP-SGD, and one in ten is run again without noise: digits
over 6 clients, a linear model, 5 rounds of 20 steps, 200 canaries. Each is audited, and what
canaries prove for one sample from what is sent and from the shared model is set beside ε. Finished
runs are not repeated: rows are in FILE, a JSON object a line. Each bound has 95 % confidence.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.page import json_lines
from fedkin.audit.audit import audit
from fedkin.experiment.run import experiment, run

EPSILONS = (1.0, None)
DELTA = 1e-5
HEAD = "| noise | target | audits | above ε | mean ε ≥ | largest ε ≥ |\n|---|---|" + "---:|" * 4


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=200)
    asked.add_argument("--out", type=Path, required=True)
    options = asked.parse_args()
    rows = json_lines(options.out)
    done = {(row["epsilon"], row["seed"]) for row in rows}
    for seed in range(options.runs):
        for epsilon in EPSILONS if seed % 10 == 0 else EPSILONS[:1]:
            if (epsilon, seed) not in done:
                row = {"epsilon": epsilon, "seed": seed, **_audited(epsilon, seed)}
                rows.append(row)
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    print(HEAD)
    for epsilon in EPSILONS:
        for target in ("message", "global"):
            print(_line(epsilon, target, [row for row in rows if row["epsilon"] == epsilon]))


def _line(epsilon: float | None, target: str, rows: list[dict[str, Any]]) -> str:
    lower = [row["lower"][target] for row in rows]
    above = "" if epsilon is None else str(sum(one > epsilon for one in lower))
    name = "none" if epsilon is None else f"ε = {epsilon:g}"
    return f"| {name} | {target} | {len(lower)} | {above} | {fmean(lower):.2f} | {max(lower):.2f} |"


def _audited(epsilon: float | None, seed: int) -> dict[str, Any]:
    """What canaries prove of a run, target by target."""
    content: dict[str, Any] = {
        "data": {"name": "digits"},
        "split": {"name": "iid"},
        "model": {"name": "mlr"},
        "method": {"name": "fedavg"},
        "train": {"lr": 0.5, "steps": 20, "batch_size": 64},
        "engine": {"name": "inprocess"},
        "run": {"clients": 6, "rounds": 5, "evaluate_every": 5, "seed": seed},
        "audit": {"canaries": 200},
    }
    if epsilon is not None:
        noise = {"epsilon": epsilon, "delta": DELTA}
        content["privacy"] = {"unit": "sample", "clip": 1.0, "noise": noise}
    with tempfile.TemporaryDirectory() as folder:
        found = audit(run(experiment(content), Path(folder) / "run"))
    accounted = found["accounted"]
    return {
        "accounted": None if accounted is None else accounted["epsilon"],
        "lower": {one["target"]: one["lower"] for one in found["canaries"]},
    }


if __name__ == "__main__":
    main()
