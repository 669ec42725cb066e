"""``python -m benchmarks.private --out FILE [--write docs/privacy.md]``: accuracy at ε = 1, 4, 8
and without noise, for each training sample of a client, on UCI HAR's 30 subjects and the first 40
FEMNIST writers.

δ = 1e-5, clip 1, 15 rounds of 5 steps; nothing was tuned. Each cell is the mean test accuracy of
personal models (of `fedavg`: of its global model) after the last round, in percent. Finished rows
are not repeated.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.page import line_of, renew
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.report.summary import summary
from fedkin.runs.spec import parse

DELTA = 1e-5
EPSILONS = (1.0, 4.0, 8.0, None)
HEAD = (
    f"| data, method | {' | '.join('ε = ∞' if e is None else f'ε = {e:g}' for e in EPSILONS)} "
    f"| seeds |\n|---|{'---:|' * (len(EPSILONS) + 1)}"
)
METHODS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "persfl": {"student_epochs": 3, "lams": [0.2, 0.6, 0.9], "temperatures": [1.0, 5.0]},
    "cgpfl": {"clusters": 3, "inner": 2, "lam": 2.0},
    "comet": {"clusters": 3, "lam": 0.1, "public_batch": 16},
    "ditto": {"lam": 0.1},
    "ppfl": {"models": 3},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "har": {
        "data": {"name": "har"},
        "split": {"name": "natural"},
        "model": {"name": "dnn", "hidden": 16},
        "train": {"lr": 0.1, "steps": 5, "batch_size": 64},
        "run": {"rounds": 15},
    },
    "femnist": {
        "data": {"name": "femnist"},
        "split": {"name": "natural"},
        "model": {"name": "mlr"},
        "train": {"lr": 0.1, "steps": 5, "batch_size": 32},
        "run": {"rounds": 15, "clients": 40},
    },
}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path, required=True, help="rows, a JSON object a line")
    asked.add_argument("--settings", default=",".join(SETTINGS))
    asked.add_argument("--only", default=",".join(METHODS))
    asked.add_argument("--seeds", type=int, default=1)
    asked.add_argument("--write", type=Path)
    options = asked.parse_args()
    known = _rows(options.out)
    for seed in range(options.seeds):
        for setting in options.settings.split(","):
            for method in options.only.split(","):
                for epsilon in EPSILONS:
                    key = {"setting": setting, "method": method, "epsilon": epsilon, "seed": seed}
                    if any(key.items() <= row.items() for row in known):
                        continue
                    row = {**key, **measured(setting, method, epsilon, seed)}
                    known.append(row)
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                    print(row, flush=True)
    if options.write is not None:
        order = [f"{setting}, {method}" for setting in SETTINGS for method in METHODS]
        renew(options.write, "private", HEAD, table(known), order)


def content_of(setting: str, method: str, epsilon: float | None, seed: int) -> dict[str, Any]:
    """An experiment."""
    plain = SETTINGS[setting]
    content = {
        **plain,
        "method": {"name": method, **METHODS[method]},
        "engine": {"name": "inprocess"},
        "run": {**plain["run"], "evaluate_every": plain["run"]["rounds"], "seed": seed},
    }
    if method == "comet":
        content["public"] = {"source": "held-out", "samples": 100}
    if epsilon is not None:
        noise = {"epsilon": epsilon, "delta": DELTA}
        content["privacy"] = {"unit": "sample", "clip": 1.0, "noise": noise}
    return content


def measured(setting: str, method: str, epsilon: float | None, seed: int) -> dict[str, Any]:
    """Its accuracies, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = summary(
                run(parse(content_of(setting, method, epsilon, seed))[0], folder + "/r")
            )
        except FedkinError as error:
            return {"refused": str(error)}
    view = found["accuracy"]
    noise = found["privacy"]["noise"] if found["privacy"] else None
    return {
        "noise": noise,
        "accuracy": {name: picks["final"]["mean"] for name, picks in view.items()},
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """A row a setting and method, a column an ε."""
    found = []
    for setting in SETTINGS:
        for method in METHODS:
            of = [r for r in rows if (r["setting"], r["method"]) == (setting, method)]
            if of:
                cells = [_cell([r for r in of if r["epsilon"] == e]) for e in EPSILONS]
                seeds = str(len({row["seed"] for row in of}))
                found.append(line_of([f"{setting}, {method}", *cells, seeds]))
    return found


def _cell(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    if any("refused" in row for row in rows):
        return "refused"
    return f"{100 * fmean(row['accuracy']['personal'] for row in rows):.1f}"


def _rows(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
