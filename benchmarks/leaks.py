"""``python -m benchmarks.leaks [METHOD…] [--write docs/privacy.md]``: what each method leaks, by
``fedkin audit`` on one setting.

Digits over 10 clients (Dirichlet, alpha = 1), a dense model, 100 canaries. The columns are AUC of
the better attack on training samples of the personal model and of what is sent, the correlation of
what is sent with the sender's classes, AUC of whether it has a class at all, and what canaries
prove of epsilon for one row. Rows are written as they come.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.page import line_of, renew
from fedkin.audit.audit import audit
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment, run
from fedkin.methods import METHODS, make

HYPER: dict[str, dict[str, Any]] = {  # what has no default
    "fedper": {"personal": ["3.weight", "3.bias"]},
    "lg_fedavg": {"shared": ["3.weight", "3.bias"]},
    "partial_fl": {"personal": ["3.weight", "3.bias"], "personal_steps": 5},
    "fedsim": {"personal": ["3.weight", "3.bias"], "personal_lr": 0.1},
    "fedrep": {"personal": ["3.weight", "3.bias"], "personal_steps": 5},
    "fedbabu": {"head": ["3.weight", "3.bias"]},
    "fedbn": {"personal": ["3.bias"]},
    "fedala": {"adaptive": ["3.weight", "3.bias"]},
    "per_fedavg": {"inner_lr": 0.1},
    "fedrod": {"personal_lr": 0.1},
    "persfl": {"lams": [0.2, 0.6], "temperatures": [1.0, 5.0], "margin": 0.0},
    "comet": {"clusters": 2},
    "cgpfl": {"clusters": 2, "personal_lr": 0.1},
    "ppfl": {"models": 2},
    "ifca": {"clusters": 2},
    "hypcluster": {"clusters": 2},
}
TARGETS = ("personal", "message")
HEAD = (
    "| method | personal: AUC | sent: AUC | sent: classes | sent: has a class | personal: ε ≥ "
    f"| sent: ε ≥ |\n|---|{'---:|' * 6}"
)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("methods", nargs="*", choices=[*METHODS, []])
    asked.add_argument("--rounds", type=int, default=15)
    asked.add_argument("--write", type=Path)
    options = asked.parse_args()
    print(HEAD)
    for method in options.methods or METHODS:
        try:
            cells = _row(method, options.rounds)
        except FedkinError as error:
            cells = [f"not run: {error}", *[""] * 5]
        row = line_of([method, *cells])
        print(row, flush=True)
        if options.write is not None:
            renew(options.write, "leaks", HEAD, [row], list(METHODS))


def _row(method: str, rounds: int) -> list[str]:
    hyper = HYPER.get(method, {})
    needs = make(method, hyper, {"lr": 0.1}).needs
    content: dict[str, Any] = {
        "data": {"name": "digits"},
        "split": {"name": "dirichlet", "alpha": 1.0},
        "model": {"name": "dnn", "hidden": 64},
        "method": {"name": method, **hyper},
        "train": {"lr": 0.1, "steps": 20, "batch_size": 32},
        "engine": {"name": "inprocess", "compile": "trace"},
        "run": {"clients": 10, "rounds": rounds, "evaluate_every": rounds, "seed": 0},
        "audit": {"canaries": 100},
    }
    if needs.public != "none":
        labeled = needs.public == "labeled"
        content["public"] = {"source": "held-out", "samples": 200, "labeled": labeled}
    with tempfile.TemporaryDirectory() as folder:
        found = audit(run(experiment(content), Path(folder) / "run"))
    best: dict[str, float] = {}
    for one in found["membership"]:
        best[one["target"]] = max(one["auc"], best.get(one["target"], 0.0))
    proved = {one["target"]: one["lower"] for one in found["canaries"]}
    classes, told = found["labels"], found["properties"]
    has = None if told is None else told["has"]
    return [
        *(f"{best[target]:.2f}" if target in best else "" for target in TARGETS),
        "" if classes is None else f"{classes['correlation']:.2f}",
        "" if has is None else f"{has:.2f}",
        *(f"{proved[target]:.1f}" if target in proved else "" for target in TARGETS),
    ]


if __name__ == "__main__":
    main()
