"""``python -m benchmarks.private --out FILE [--write docs/privacy.md]``: accuracy at ε = 1, 4, 8
and without noise, for each training sample of a client, on UCI HAR's 30 subjects and the first 40
FEMNIST writers.

δ = 1e-5, clip 1, 20 rounds of 5 steps; nothing was tuned. Each cell is the mean test accuracy of
personal models (of `fedavg`: of its global model) after the last round, in percent, with the
standard deviation over seeds. Finished rows are not repeated. ``--chart FILE`` draws the same;
``--seeds 0`` runs nothing, and renews table and chart from the rows that are there.
"""

import argparse
import json
import tempfile
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import altair as alt

from benchmarks.page import json_lines, line_of, renew
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
PLAIN = " (v plain)"  # steps of the personal model have no noise
METHODS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "finetune": {"epochs": 5},  # what it learns at home is not noised
    "persfl": {
        "student_epochs": 3,
        "lams": [0.2, 0.6, 0.9],
        "temperatures": [1.0, 5.0],
        "margin": 0.0,
    },
    "cgpfl": {"clusters": 3, "inner": 2, "lam": 2.0, "personal_lr": 0.1},
    "comet": {"clusters": 3, "lam": 0.1, "public_batch": 16},
    "ditto": {"lam": 0.1},
    "ditto (v plain)": {"lam": 0.1},  # privacy.personal = "plain"
    "ppfl": {"models": 3, "affinity": "none", "membership_steps": "batches"},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "har": {
        "data": {"name": "har"},
        "split": {"name": "natural"},
        "model": {"name": "dnn", "hidden": 32},
        "train": {"lr": 0.1, "steps": 5, "batch_size": 64},
        "run": {"rounds": 20},
    },
    "femnist": {
        "data": {"name": "femnist"},
        "split": {"name": "natural"},
        "model": {"name": "mlr"},
        "train": {"lr": 0.1, "steps": 5, "batch_size": 64},
        "run": {"rounds": 20, "clients": 40},
    },
}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path, required=True, help="rows, a JSON object a line")
    asked.add_argument("--settings", default=",".join(SETTINGS))
    asked.add_argument("--only", default=",".join(METHODS))
    asked.add_argument("--seeds", type=int, default=1)
    asked.add_argument("--chart", type=Path)
    asked.add_argument("--write", type=Path)
    options = asked.parse_args()
    known = json_lines(options.out)
    chosen = options.settings.split(","), options.only.split(","), EPSILONS, range(options.seeds)
    for cell in product(*chosen):  # seeds last: what one has accounted for the next one knows
        key = dict(zip(("setting", "method", "epsilon", "seed"), cell, strict=True))
        if any(key.items() <= row.items() for row in known):
            continue
        row = {**key, **measured(*cell)}
        known.append(row)
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)
    if options.write is not None:
        order = [f"{setting}, {method}" for setting in SETTINGS for method in METHODS]
        renew(options.write, "private", HEAD, table(known), order)
    if options.chart is not None:
        chart(known).save(options.chart)


def content_of(setting: str, method: str, epsilon: float | None, seed: int) -> dict[str, Any]:
    """An experiment."""
    plain = SETTINGS[setting]
    content = {
        **plain,
        "method": {"name": method.removesuffix(PLAIN), **METHODS[method]},
        "engine": {"name": "inprocess"},
        "run": {**plain["run"], "evaluate_every": plain["run"]["rounds"], "seed": seed},
    }
    if method == "comet":
        content["public"] = {"source": "held-out", "samples": 100}
    if epsilon is not None:
        noise = {"epsilon": epsilon, "delta": DELTA}
        personal = "plain" if method.endswith(PLAIN) else "protected"
        content["privacy"] = {"unit": "sample", "clip": 1.0, "noise": noise, "personal": personal}
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
                counts = [n for e in EPSILONS if (n := sum(r["epsilon"] == e for r in of))]
                seeds = {str(min(counts)): 0, str(max(counts)): 0}
                found.append(line_of([f"{setting}, {method}", *cells, " to ".join(seeds)]))
    return found


def _cell(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    if any("refused" in row for row in rows):
        return "refused"
    found = [100 * row["accuracy"]["personal"] for row in rows]
    return f"{fmean(found):.1f}" + (f" ± {stdev(found):.1f}" if len(found) > 1 else "")


def chart(rows: list[dict[str, Any]]) -> alt.Chart:
    """A panel a setting: accuracy over ε, a line a method, a point a mean over seeds."""
    names = ["∞" if epsilon is None else f"{epsilon:g}" for epsilon in EPSILONS]
    points = [
        {
            "setting": row["setting"],
            "method": row["method"],
            "epsilon": names[EPSILONS.index(row["epsilon"])],
            "accuracy": row["accuracy"]["personal"],
        }
        for row in rows
        if "accuracy" in row
    ]
    lines = alt.Chart(alt.Data(values=points)).mark_line(point=True)
    return lines.encode(
        x=alt.X("epsilon:N", sort=names, title="ε, for each training sample"),
        y=alt.Y(
            "mean(accuracy):Q",
            title="mean test accuracy",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(zero=False),
        ),
        color=alt.Color("method:N", sort=list(METHODS), title=None),
        column=alt.Column("setting:N", title=None),
    ).resolve_scale(y="independent")


if __name__ == "__main__":
    main()
