"""What choosing by the data gains: COMET's c and λ_k, PPFL's K, and PPFL with few clients and many
steps a round.

    FEDKIN_DATA=DIR python -m benchmarks.choosing TABLE --out RUNS
        [--only WORD,WORD] [--write docs/methods/comet.md]

A row of a table is one ``fedkin run`` command: mean and sample standard deviation over the seeds 0,
1 and 2. Finished runs are not repeated. Validation accuracy is that of all validation samples
together, after the last round.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.page import averages, line_of, renew, spread

SEEDS = (0, 1, 2)
COLUMNS = (
    "run",
    "test accuracy",
    "validation",
    "worst decile",
    "MB",
    "clusters, last round",
    "changes",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"
EXAMPLES = Path("examples")


class Table(NamedTuple):
    """``base``: what all rows have in common, as options of ``fedkin run``; ``rows``: {name:
    further ones}.
    """

    spec: Path
    base: list[str]
    rows: dict[str, list[str]]


def _method(**changes: Any) -> list[str]:
    return [f"method.{key}={value}" for key, value in changes.items()]


COMET = {
    **{f"c = {c}": _method(clusters=c) for c in (1, 2, 3, 4, 6, 8)},
    "c by silhouette": _method(clusters="silhouette"),
    **{f"c = {c}, λ by distance": _method(clusters=c, pull="distance") for c in (1, 4)},
    "both chosen": _method(clusters="silhouette", pull="distance"),
}
PREDICTIONS = [
    "method.name=comet",
    "method.public_batch=64",
    "public.source=held-out",
    "public.samples=500",
]
PARTED = "public.groups=parted"  # HAR's public windows, as docs/methods/comet.md was measured
PPFL = ["method.name=ppfl", "method.structure=2", "method.membership_lr=0.5"]
MODELS = {f"K = {k}": _method(models=k) for k in (1, 2, 3, 4, 5, 7, 10)}
STEPS = {"one step on c": "full", "5 steps": 5, "a step a batch": "batches"}
AWAY = {  # C: the share of clients in a round
    **{
        f"C = {share}, {told}": [f"run.participation={share}", f"method.membership_steps={steps}"]
        for share in (1.0, 0.2)
        for told, steps in STEPS.items()
    },
    **{
        f"C = {share}, 5 steps of 0.1": [
            f"run.participation={share}",
            "method.membership_steps=5",
            "method.membership_lr=0.1",
        ]
        for share in (1.0, 0.2)
    },
    **{
        f"C = 0.2, {told}, 5 times the rounds": [
            "run.participation=0.2",
            f"method.membership_steps={STEPS[told]}",
            "run.rounds=125",
        ]
        for told in ("one step on c", "5 steps")
    },
    "C = 0.2, 5 steps, 5 epochs on θ": [
        "run.participation=0.2",
        "method.membership_steps=5",
        "train.epochs=5",
    ],
}
GROUPS, HAR = EXAMPLES / "methods" / "mnist_groups.toml", EXAMPLES / "methods" / "har.toml"
SYNTHETIC = EXAMPLES / "papers" / "ppfl_synthetic.toml"
# λ = 0, as docs/methods/ppfl.md was measured
SIXTY = ["data.clients=60", "run.rounds=40", "train.milestones=[]", "method.lam=0"]
TABLES = {
    "comet-groups": Table(GROUPS, PREDICTIONS, COMET),
    "comet-har": Table(HAR, [*PREDICTIONS, PARTED], COMET),
    "ppfl-models-groups": Table(GROUPS, PPFL, MODELS),
    "ppfl-models-har": Table(HAR, PPFL, MODELS),
    "ppfl-models-synthetic": Table(SYNTHETIC, SIXTY, MODELS),
    "ppfl-away-groups": Table(GROUPS, [*PPFL, "train.epochs=1", "run.rounds=25"], AWAY),
    "ppfl-away-synthetic": Table(SYNTHETIC, SIXTY, AWAY),
}


def folder(out: Path, name: str, row: str, seed: int) -> Path:
    return out / name / "".join(c if c.isalnum() or c in "=." else "_" for c in row) / f"seed{seed}"


def run_once(table: Table, changes: list[str], seed: int, where: Path) -> None:
    """Unless it is finished."""
    from fedkin.experiment.resume import resume
    from fedkin.experiment.run import run
    from fedkin.setup.arguments.options import specification

    if (where / "run.db").exists():
        resume(where)
        return
    sets = [*table.base, *changes, f"run.seed={seed}", "engine.name=inprocess"]
    run(specification(table.spec, {}, sets)[0], where)


def line(row: str, changes: list[str], folders: list[Path]) -> str:
    """One row of the table."""
    from fedkin.report.comparison.run_row import read_run
    from fedkin.report.summary import summary

    found = [summary(each) for each in folders]
    at, worst, megabytes = averages(found)
    cells = [
        row,
        spread([each["mean"] for each in at]),
        spread([float(read_run(each, "").validation or 0) for each in folders]),
        worst,
        megabytes,
        ", ".join(str(each["extras"].get("clusters", {}).get("federation", "–")) for each in found),
        f"`{' '.join(changes)}`",
    ]
    return line_of(cells)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--out", type=Path, required=True, help="folder for the run directories")
    parser.add_argument(
        "--only", default="", help="rows that contain one of these words, separated by commas"
    )
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")
    parser.add_argument("--write", type=Path, help="a page whose `<!-- TABLE -->` table is renewed")
    given = parser.parse_args()
    table, words = TABLES[given.table], given.only.split(",")
    rows = {
        row: changes for row, changes in table.rows.items() if any(word in row for word in words)
    }
    folders = {
        row: [folder(given.out, given.table, row, seed) for seed in SEEDS[: given.seeds]]
        for row in rows
    }
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        jobs = {
            row: [
                pool.submit(run_once, table, changes, k, where)
                for k, where in enumerate(folders[row])
            ]
            for row, changes in rows.items()
        }
        for row, changes in rows.items():
            for job in jobs[row]:
                job.result()
            found = line(row, changes, folders[row])
            print(found, flush=True)
            if given.write:
                renew(given.write, given.table, HEAD, [found], list(table.rows))


if __name__ == "__main__":
    main()
