"""Every method on real data: the same small search for each, chosen on validation, then three
seeds.

    FEDKIN_DATA=DIR python -m benchmarks.methods SETTING --out RUNS
        [--only ditto,apfl] [--write docs/results.md]

SETTING is one of examples/methods/*.toml. Each method gets four trials (seed 0): four learning
rates, or two rates by two values of its own hyper-parameter; the trial with the highest validation
accuracy of the personal models after the last round is run with two more seeds. Finished runs are
not repeated. Test data are read only for the table.
"""

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.page import averages, line_of, renew, spread
from fedkin.core.errors import FedkinError
from fedkin.methods import METHODS, make

SETTINGS = Path(__file__).resolve().parent.parent / "examples" / "methods"
SEEDS = (0, 1, 2)
TRIALS = 4
PUBLIC = 1000  # samples held out for the methods that exchange predictions
RATES = dict.fromkeys(("fmnist", "femnist", "har"), (0.01, 0.03, 0.1, 0.3)) | {
    "shakespeare": (0.05, 0.1, 0.3, 0.6)
}
OWN: dict[
    str, tuple[dict[str, Any], dict[str, Any]]
] = {  # two values of what matters most, tried at two rates
    "comet": ({"clusters": 2}, {"clusters": 5}),
    "pfedme": ({"lam": 1.0}, {"lam": 15.0}),
    "cgpfl": ({"clusters": 2}, {"clusters": 5}),
    "cgpfl_heur": ({"mu": 10.0}, {"mu": 1000.0}),
    "ppfl": ({"models": 2}, {"models": 5}),
    "apfl": ({"alpha": 0.25}, {"alpha": 0.75}),
    "ditto": ({"lam": 0.1}, {"lam": 1.0}),
    "fedprox": ({"mu": 0.01}, {"mu": 0.1}),
    "finetune": ({"epochs": 1}, {"epochs": 5}),
    "feddf": ({"distill_lr": 0.01}, {"distill_lr": 0.1}),
    "ds_fl": ({"distill_steps": 5}, {"distill_steps": 20}),
    "kt_pfl": ({"distill_steps": 5}, {"distill_steps": 20}),
    "fedmd": ({"digest_steps": 5}, {"digest_steps": 20}),
    "per_fedavg": ({"inner_lr": 0.01}, {"inner_lr": 0.1}),
    "l2sgd": ({"lam": 0.1}, {"lam": 1.0}),
    "fedfomo": ({"candidates": 3}, {"candidates": 8}),
    "ifca": ({"clusters": 2}, {"clusters": 5}),
    "hypcluster": ({"clusters": 2}, {"clusters": 5}),
    "fedem": ({"components": 2}, {"components": 4}),
}
# What fits the public set, or the time; and the defaults of when docs/results.md was measured
FIXED: dict[str, dict[str, Any]] = {
    "fedmd": {"subset": 500},
    "hypcluster": {"starts": 2},
    "persfl": {"lams": (0.0, 0.25, 0.5, 0.75), "temperatures": (1.0, 5.0), "margin": 0.0},
    "cgpfl": {"personal_lr": 0.1},
    "cgpfl_heur": {"personal_lr": 0.1},
}
COLUMNS = (
    "method",
    "test accuracy",
    "worst decile",
    "spread",
    "better than local",
    "MB",
    "setting",
    "lost",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


class Trial(NamedTuple):
    """One run: its folder and its whole specification."""

    folder: Path
    content: dict[str, Any]


def trials(setting: str, method: str, out: Path) -> list[Trial]:
    """The four trials of a method, seed 0."""
    rates = RATES[setting]
    own = OWN.get(method)
    grid = product(rates, [{}]) if own is None else product(rates[1:3], own)
    found = []
    for lr, hyper in grid:
        with suppress(FedkinError):  # a combination that the method refuses is a lost trial
            found.append(trial(setting, method, lr, hyper, 0, out))
    return found


def trial(
    setting: str, method: str, lr: float, hyper: dict[str, Any], seed: int, out: Path
) -> Trial:
    from fedkin.runs.spec import read

    content, _ = read(SETTINGS / f"{setting}.toml")
    fixed = FIXED.get(method, {})
    hyper = {**fixed, **hyper}
    content["method"] = {"name": method, **hyper}
    content["train"]["lr"] = lr
    content["run"]["seed"] = seed
    content["engine"] = {**content.get("engine", {}), "name": "inprocess"}
    needs = make(method, hyper, {"lr": lr}).needs
    if needs.public != "none":
        content["public"] = {
            "source": "held-out",
            "samples": PUBLIC,
            "labeled": needs.public == "labeled",
            "groups": "parted",  # as docs/results.md was measured
        }
    words = [
        f"lr{lr}",
        *(f"{key}{value}" for key, value in hyper.items() if key not in fixed),
        f"seed{seed}",
    ]
    return Trial(out / setting / method / "-".join(words), content)


def measured(given: Trial) -> float | None:
    """Run a trial if it is not finished; its validation accuracy after the last round, None where
    it diverged.
    """
    from fedkin.experiment.resume import resume
    from fedkin.experiment.run import run
    from fedkin.report.records import opened
    from fedkin.report.scores import curves
    from fedkin.runs.spec import parse

    try:
        if (given.folder / "run.db").exists():
            resume(given.folder)
        else:
            run(parse(given.content)[0], given.folder)
    except FedkinError as error:
        if "diverged" in str(error) or "cannot be evaluated" in str(error):
            return None
        raise
    with opened(given.folder) as record:
        return curves(record)["personal"].validation[-1]


def final(folder: Path) -> dict[int, float]:
    """Test accuracy of every client's personal model after the last round."""
    from fedkin.report.records import opened
    from fedkin.report.scores import curves, scores

    with opened(folder) as record:
        last = curves(record)["personal"].rounds[-1]
        return {k: a for k, (_, a) in scores(record, last, "personal").items() if a is not None}


def chosen(
    pool: ProcessPoolExecutor, setting: str, method: str, out: Path
) -> tuple[list[Trial], int]:
    """The runs of the best trial, one a seed, and how many of the trials diverged."""
    tried = trials(setting, method, out)
    values = list(pool.map(measured, tried))
    best = max(range(len(tried)), key=lambda i: -1.0 if values[i] is None else values[i])
    train, hyper = tried[best].content["train"], dict(tried[best].content["method"])
    del hyper["name"]
    runs = [trial(setting, method, train["lr"], hyper, seed, out) for seed in SEEDS]
    list(pool.map(measured, runs))
    return runs, TRIALS - sum(value is not None for value in values)


def line(method: str, runs: list[Trial], lost: int, local: list[dict[int, float]] | None) -> str:
    """One row of the table."""
    from fedkin.report.summary import summary

    found = [summary(given.folder) for given in runs]
    at, worst, megabytes = averages(found)
    content = runs[0].content
    fixed = FIXED.get(method, {})
    hyper = [
        f"{key} {value}"
        for key, value in content["method"].items()
        if key != "name" and key not in fixed
    ]
    cells = [
        method,
        spread([each["mean"] for each in at]),
        worst,
        f"{100 * statistics.mean(each['std'] for each in at):.1f}",
        "–" if local is None else _helped([final(given.folder) for given in runs], local),
        megabytes,
        ", ".join([f"lr {content['train']['lr']}", *hyper]),
        f"{lost} of 4" if lost else "",
    ]
    return line_of(cells)


def _helped(ours: list[dict[int, float]], local: list[dict[int, float]]) -> str:
    """Share of clients (over seeds) whose accuracy is above, and below, that of training alone."""
    pairs = [(a[k], b[k]) for a, b in zip(ours, local, strict=True) for k in a.keys() & b.keys()]
    above, below = (sum(sign * (a - b) > 1e-9 for a, b in pairs) / len(pairs) for sign in (1, -1))
    return f"{above:.0%} / {below:.0%} worse"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("setting", choices=sorted(RATES))
    parser.add_argument("--out", type=Path, required=True, help="folder for the run directories")
    parser.add_argument("--only", default="", help="methods, separated by commas (default: all)")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")
    parser.add_argument(
        "--write", type=Path, help="a page whose `<!-- methods-SETTING -->` table is renewed"
    )
    given = parser.parse_args()
    wanted = given.only.split(",") if given.only else list(METHODS)
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        runs, _ = chosen(pool, given.setting, "local", given.out)
        local = [final(run.folder) for run in runs]
        for method in wanted:
            runs, lost = chosen(pool, given.setting, method, given.out)
            row = line(method, runs, lost, None if method == "local" else local)
            print(row, flush=True)
            if given.write:
                renew(given.write, f"methods-{given.setting}", HEAD, [row], list(METHODS))


if __name__ == "__main__":
    main()
