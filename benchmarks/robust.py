"""``python -m benchmarks.robust``: what attackers cost honest clients, by rule and by attack.

A fifth of 30 clients attacks: the subjects of ``har``, or of digits that are divided by a Dirichlet
distribution (alpha = 1). Each row is an attack, each column a rule, each cell
the mean test accuracy of the honest clients after the last round, over the seeds; of a backdoor
also the share of honest test samples of other classes that the trigger turns to its target.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from fedkin.api import Result
from fedkin.experiment.run import experiment, run
from fedkin.methods import make
from fedkin.report.records import opened
from fedkin.report.scores import values
from fedkin.transforms.attacks import attackers
from fedkin.transforms.hostile.poisoned_data import triggered
from fedkin.transforms.setting import Setting

CLIENTS, SHARE = 30, 0.2
SPLITS: dict[str, dict[str, Any]] = {
    "har": {"name": "natural"},
    "digits": {"name": "dirichlet", "alpha": 1.0},
}
RULES: dict[str, list[dict[str, Any]]] = {
    "mean": [],
    "norm_bound": [{"name": "norm_bound", "bound": 0.5}],
    "median": [{"name": "median"}],
    "trimmed_mean": [{"name": "trimmed_mean", "share": 0.2}],
    "geometric_median": [{"name": "geometric_median", "iterations": 50}],
    "krum": [{"name": "krum", "attackers": 6, "chosen": 1}],
    "multi-krum": [{"name": "krum", "attackers": 6, "chosen": 20}],
    "trust": [{"name": "trust", "lr": 0.2}],  # with a public set of 200 labeled samples
}
PUBLIC = {"source": "held-out", "samples": 200}
HYPER: dict[str, dict[str, Any]] = {"ppfl": {"models": 3}, "comet": {"clusters": 3}}
ATTACKS: dict[str, dict[str, Any]] = {
    "none": {},
    "label_flip": {},
    "sign_flip": {"strength": 4.0},
    "scaled": {},
    "constant": {},
    "alie": {"strength": 1.0},
    "backdoor": {},
    "collude": {},  # predictions that attackers agreed on
}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--method", default="fedavg")
    asked.add_argument("--view", default="global")
    asked.add_argument("--data", choices=SPLITS, default="har")
    asked.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS)[:-1])
    asked.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    asked.add_argument("--rounds", type=int, default=30)
    asked.add_argument("--seeds", type=int, default=1)
    options = asked.parse_args()
    print(f"| {options.method} | {' | '.join(options.rules)} |")
    print(f"|---|{'---:|' * len(options.rules)}")
    for attack in options.attacks:
        cells = [_cell(options, attack, rule) for rule in options.rules]
        print(f"| {attack} | {' | '.join(cells)} |", flush=True)


def _cell(options: argparse.Namespace, attack: str, rule: str) -> str:
    found = [_measured(options, attack, rule, seed) for seed in range(options.seeds)]
    shown = f"{fmean(accuracy for accuracy, _ in found):.3f}"
    turned = [share for _, share in found if share is not None]
    return f"{shown} ({fmean(turned):.2f})" if turned else shown


def _measured(
    options: argparse.Namespace, attack: str, rule: str, seed: int
) -> tuple[float, float | None]:
    """Honest clients' accuracy, and how often the trigger turns a sample of theirs."""
    asked = [] if attack == "none" else [{"name": "attack", "kind": attack, **ATTACKS[attack]}]
    content: dict[str, Any] = {
        "data": {"name": options.data},
        "split": SPLITS[options.data],
        "model": {"name": "dnn"},
        "method": {"name": options.method, **HYPER.get(options.method, {})},
        "train": {"lr": 0.2, "steps": 10, "batch_size": 32},
        "engine": {"name": "inprocess"},
        "run": {
            "clients": CLIENTS,
            "rounds": options.rounds,
            "evaluate_every": options.rounds,
            "seed": seed,
        },
        "transforms": [*asked, *RULES[rule]],
    }
    needed = make(options.method, HYPER.get(options.method, {}), {"lr": 0.2}).needs.public
    if rule == "trust" or needed != "none":
        content["public"] = {**PUBLIC, "labeled": rule == "trust" or needed == "labeled"}
    with tempfile.TemporaryDirectory() as folder:
        made = run(experiment(content), Path(folder) / "run")
        hostile = attackers(Setting(CLIENTS, CLIENTS, 1.0, seed), SHARE)
        honest = [client for client in range(CLIENTS) if client not in hostile]
        with opened(made) as record:
            by = values(record, options.rounds, options.view, "accuracy")
        turned = _turned(Result(made), honest, options.view) if attack == "backdoor" else None
        return fmean(v for client in honest if (v := by[client]) is not None), turned


def _turned(result: Result, honest: list[int], view: str) -> float:
    shares = []
    for client in honest:
        model = result.personal(client, view)
        x, y = result.data(client)
        with torch.no_grad():
            told = model(triggered(x)).argmax(1)
        shares.append(float((told[y != 0] == 0).double().mean()))
    return fmean(shares)


if __name__ == "__main__":
    main()
