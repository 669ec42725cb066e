"""What ``compare`` knows of one run: its row, its clients' scores, which data it had and which
experiment it was.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, named_line
from fedkin.report import formatting
from fedkin.report.comparison.setting import Setting, key, setting
from fedkin.report.records import Run, opened
from fedkin.report.scores import scores
from fedkin.report.summary import of_run

PICKS = {"final": "final", "best_by_validation": "best by validation"}
SPREADS = {"mean": "mean", "weighted": "weighted", "worst_decile": "worst decile", "std": "std"}
SCORES = [
    f"{view} {pick} {name}"
    for view in ("personal", "global")
    for pick in PICKS.values()
    for name in SPREADS.values()
]
COSTS = ["paper scalars", "paper bytes", "unicast bytes", "seconds per round", "seconds"]
MEASURES = ("RMSE", "MAE", "AUC")  # those of engine/measures.py, as people write them
MEASURED = [f"{view} {name}" for view in ("personal", "global") for name in MEASURES]
NUMBERS = [*SCORES, "personal loss", "global loss", *MEASURED, *COSTS]
FINISHED = "finished"
IN_SETTING = (
    "data",
    "split",
    "public",
    "run",
    "engine",
)  # sections of a specification that are compared as a Setting
OF_RUN = (
    "sampling",
    "holdout_clients",
    "holdout_labels",
)  # what else in [run] tells experiments apart
TUNED = ("method", "train")  # sections whose values are hyper-parameters


class Seen(NamedTuple):
    """One run. A damaged one has a row, and nothing else."""

    row: dict[str, Any]
    setting: Setting | None = None  # which client data
    experiment: str = ""  # everything but the seed
    family: str = ""  # everything but the seed and the hyper-parameters
    measure: str = (
        ""  # "accuracy", or "loss" of a regression: what ``personal`` and ``validation`` are
    )
    personal: Mapping[int, float] = {}  # on test, by client, final
    validation: float | None = (
        None  # on all validation samples together; ±inf where a client's is no number
    )
    diverged: Sequence[str] = ()  # sentences about clients without a finite loss
    hyper: Mapping[str, Any] = {}
    tuned: Mapping[str, Any] = {}  # the same, and [train]
    folder: Path | None = None

    @property
    def finished(self) -> bool:
        return bool(self.row["state"] == FINISHED)

    @property
    def name(self) -> str:
        return str(self.row["run"])

    def same_data(self, other: "Seen") -> bool:
        return (
            self.setting is not None
            and other.setting is not None
            and self.setting.same(other.setting)
        )


def look(folder: Path, name: str) -> Seen:
    """What one run tells; a damaged one tells only that."""
    try:
        with opened(folder) as run:
            found = of_run(run)
            measure = "accuracy" if found["accuracy"] else "loss"
            last = (found[measure].get("personal") or {}).get("final")
            values = {} if last is None else _values(run, last["round"], measure, "test")
            personal = {client: value for client, value in values.items() if value is not None}
            validation = None if last is None else _validation(run, last["round"], measure)
            facts = run.facts
    except FedkinError as error:
        return Seen({"run": name, "state": f"damaged: {error}"})
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # a value of another kind
        return Seen({"run": name, "state": f"damaged: {named_line(error)}"})
    data = setting(facts, found["clients"])
    whole = facts.get("spec") or {}
    spec = {part: content for part, content in whole.items() if part not in IN_SETTING}
    chosen = {name: value for name, value in (whole.get("run") or {}).items() if name in OF_RUN}
    parts = ("method", "rounds", "participation", "model", "versions")
    fixed = [data.text, chosen, *(facts.get(part) for part in parts)]
    return Seen(
        _row(name, found),
        data,
        key([fixed, facts.get("hyper"), spec]),
        key([fixed, {part: content for part, content in spec.items() if part not in TUNED}]),
        measure,
        personal,
        validation,
        formatting.diverged(found),
        facts.get("hyper") or {},
        _tuned(facts.get("hyper") or {}, spec.get("train") or {}),
        Path(folder),
    )


def names(folders: Sequence[Path]) -> list[str]:
    """The folders' own names, or their whole paths where those are not unique."""
    short = [Path(folder).name or str(folder) for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def by_experiment(seen: Sequence[Seen]) -> list[list[Seen]]:
    """The finished runs that differ in their seed only, each seed once (the first given)."""
    groups: dict[str, dict[Any, Seen]] = {}
    for one in seen:
        if one.finished:
            groups.setdefault(one.experiment, {}).setdefault(one.row["seed"], one)
    return [list(group.values()) for group in groups.values()]


def labels(groups: Sequence[Sequence[Seen]]) -> list[str]:
    """What tells experiments of one method apart: the hyper-parameters in which they differ; ""
    where there is one.
    """
    found = []
    for group in groups:
        method, own = group[0].row["method"], group[0].tuned
        others = [other[0].tuned for other in groups if other[0].row["method"] == method]
        keys = dict.fromkeys(name for hyper in others for name in hyper)
        differ = [
            name
            for name in keys
            if any(key(hyper.get(name)) != key(own.get(name)) for hyper in others)
        ]
        found.append(", ".join(f"{name} = {own.get(name)}" for name in differ))
    return found


def _values(run: Run, at: int, measure: str, split: str) -> dict[int, float | None]:
    column = 1 if measure == "accuracy" else 0
    return {k: pair[column] for k, pair in scores(run, at, "personal", split).items()}


def _validation(run: Run, at: int, measure: str) -> float | None:
    """Weighted by validation samples.

    A client that has some and no number diverged: worse than any number.
    """
    values = _values(run, at, measure, "val")
    sizes = {k: run.clients[k].val for k in values if k in run.clients and run.clients[k].val}
    if not sizes:
        return None
    worst = -math.inf if measure == "accuracy" else math.inf
    known = {k: worst if (value := values[k]) is None else value for k in sizes}
    return sum(value * sizes[k] for k, value in known.items()) / sum(sizes.values())


def _tuned(hyper: Mapping[str, Any], train: Mapping[str, Any]) -> dict[str, Any]:
    """With [train], but for what the method took over from it."""
    return {
        **hyper,
        **{f"train.{name}": value for name, value in train.items() if name not in hyper},
    }


def _row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    row = {key: found[key] for key in ("method", "seed", "rounds")} | {"run": name}
    planned = "?" if found["planned"] is None else found["planned"]
    row["state"] = (
        FINISHED if found["finished"] else f"unfinished: round {found['rounds']} of {planned}"
    )
    for view in ("personal", "global"):
        for pick, shown in PICKS.items():
            numbers = (found["accuracy"].get(view) or {}).get(pick) or {}
            row |= {f"{view} {shown} {SPREADS[key]}": numbers.get(key) for key in SPREADS}
        row[f"{view} loss"] = found["loss"].get(view, {}).get("final", {}).get("mean")
        measures = found["measures"].get(view, {})
        row |= {f"{view} {name}": measures.get(name.lower(), {}).get("mean") for name in MEASURES}
    row["paper scalars"] = found["communication"]["paper"]["scalars"]["total"]
    row["paper bytes"] = found["communication"]["paper"]["bytes"]["total"]
    row["unicast bytes"] = found["communication"]["unicast"]["bytes"]["total"]
    row["seconds per round"] = found["seconds"]["per_round"]
    row["seconds"] = found["seconds"]["total"]
    return row
