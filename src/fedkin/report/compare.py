"""Runs side by side: one row a run, one row for runs that differ in their seed only, and what cannot be compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fedkin.core.errors import FedkinError
from fedkin.report.records import opened
from fedkin.report.scores import scores
from fedkin.report.setting import Setting, key, setting
from fedkin.report.summary import of_run

PICKS = {"final": "final", "best_by_validation": "best by validation"}
SPREADS = {"mean": "mean", "weighted": "weighted", "worst_decile": "worst decile", "std": "std"}
SCORES = [
    f"{view} {pick} {name}" for view in ("personal", "global") for pick in PICKS.values() for name in SPREADS.values()
]
NUMBERS = [*SCORES, "personal loss", "global loss", "paper scalars", "unicast bytes", "seconds per round"]
AGAINST = ["helped", "hurt"]
COLUMNS = ["run", "method", "seed", "state", "rounds", *NUMBERS, *AGAINST]
FINISHED = "finished"
IN_SETTING = ("data", "split", "public", "run", "engine")  # sections of a specification that are compared as a Setting


class Comparison(NamedTuple):
    """``runs``: one row a run (COLUMNS). ``seeds``: mean and sample standard deviation over seeds of FINISHED runs that
    differ in nothing else. ``warnings``: one sentence for each thing that makes runs incomparable. ``hints``: how
    to get what is missing."""

    runs: pd.DataFrame
    seeds: pd.DataFrame
    warnings: list[str]
    hints: list[str]


class _Seen(NamedTuple):
    row: dict[str, Any]
    setting: Setting | None  # which client data; None for a damaged run
    experiment: str  # everything but the seed
    personal: dict[int, float]  # final test accuracy by client
    hyper: dict[str, Any]

    @property
    def finished(self) -> bool:
        return bool(self.row["state"] == FINISHED)


def compare(folders: Sequence[Path]) -> pd.DataFrame:
    """One row a run; accuracies are fractions on test. ``helped``/``hurt``: shares of clients whose final personal test
    accuracy is above/below that of a finished run of ``local`` on the same data (nan if there is none).

    A run that is unfinished or damaged says so in ``state``. Raises FedkinError if there is no run at all.
    """
    return comparison(folders).runs


def comparison(folders: Sequence[Path]) -> Comparison:
    """``compare``, with the table over seeds and the warnings."""
    if not folders:
        raise FedkinError("there is nothing to compare: give at least one run directory")
    seen = [_look(Path(folder), name) for folder, name in zip(folders, _names(folders), strict=True)]
    _against_local(seen)
    runs = pd.DataFrame(
        [{column: one.row.get(column) for column in COLUMNS} for one in seen], columns=COLUMNS, dtype=object
    )
    for column in [*NUMBERS, *AGAINST]:
        runs[column] = pd.to_numeric(runs[column]).astype(float)
    return Comparison(runs, _over_seeds(seen), same_setting(seen) + _twice(seen), _how_to_get_local(seen))


def same_setting(seen: "Sequence[_Seen]") -> list[str]:
    """A warning if the runs are not all of the same client data, and why where only the public set differs."""
    groups: list[list[_Seen]] = []
    for one in seen:
        if one.setting is not None:
            fitting = next((group for group in groups if all(_same(one, other) for other in group)), None)
            if fitting is None:
                groups.append(fitting := [])
            fitting.append(one)
    if len(groups) < 2:
        return []
    parts = "; ".join(_few([one.row["run"] for one in group]) for group in groups)
    reasons = dict.fromkeys(reason for group in groups[1:] if (reason := _only_public(groups[0][0], group[0])))
    said = [f"not the same client data, so the numbers do not compare: {parts}", *reasons]
    return ["; ".join(said)]


def _same(one: _Seen, other: _Seen) -> bool:
    return one.setting is not None and other.setting is not None and one.setting.same(other.setting)


def _only_public(one: _Seen, other: _Seen) -> str:
    """What to do where nothing but the public set differs; else ""."""
    if one.setting is None or other.setting is None or one.setting.core != other.setting.core:
        return ""
    if one.setting.public == other.setting.public:
        return ""
    if one.setting.public and other.setting.public:
        return f"{one.row['run']} and {other.row['run']} have different public sets"
    having, lacking = (one, other) if one.setting.public else (other, one)
    assert having.setting is not None
    held = having.setting.public["source"] == "held-out"
    has = "holds public samples out" if held else f"has the public set {having.setting.public['source']}"
    return f"{having.row['method']} {has}; run {lacking.row['method']} with {having.setting.options} to compare"


def _look(folder: Path, name: str) -> _Seen:
    """What one run tells; a damaged one tells only that."""
    try:
        with opened(folder) as run:
            facts, found = run.facts, of_run(run)
            last = (found["accuracy"].get("personal") or {}).get("final")
            personal = {} if last is None else {k: a for k, (_, a) in scores(run, last["round"], "personal").items()}
    except FedkinError as error:
        return _Seen({"run": name, "state": f"damaged: {error}"}, None, "", {}, {})
    spec = facts.get("spec") or {}
    data = setting(facts, found["clients"])
    rest = {section: content for section, content in spec.items() if section not in IN_SETTING}
    everything = [facts.get(key) for key in ("method", "hyper", "rounds", "participation", "model", "versions")]
    return _Seen(
        _row(name, found),
        data,
        key([data.text, everything, rest]),
        {k: a for k, a in personal.items() if a is not None},
        facts.get("hyper") or {},
    )


def _row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    row = {key: found[key] for key in ("method", "seed", "rounds")} | {"run": name}
    planned = "?" if found["planned"] is None else found["planned"]
    row["state"] = FINISHED if found["finished"] else f"unfinished: round {found['rounds']} of {planned}"
    for view in ("personal", "global"):
        for pick, shown in PICKS.items():
            numbers = (found["accuracy"].get(view) or {}).get(pick) or {}
            row |= {f"{view} {shown} {SPREADS[key]}": numbers.get(key) for key in SPREADS}
        row[f"{view} loss"] = found["loss"].get(view, {}).get("final", {}).get("mean")
    row["paper scalars"] = found["communication"]["paper"]["scalars"]["total"]
    row["unicast bytes"] = found["communication"]["unicast"]["bytes"]["total"]
    row["seconds per round"] = found["seconds"]["per_round"]
    return row


def _against_local(seen: Sequence[_Seen]) -> None:
    local = [one for one in seen if one.row.get("method") == "local" and one.finished]
    for one in seen:
        base = next((o.personal for o in local if o.row["seed"] == one.row.get("seed") and _same(one, o)), {})
        both = [k for k in one.personal if k in base]
        if both and one.row["method"] != "local":
            one.row["helped"] = sum(one.personal[k] > base[k] for k in both) / len(both)
            one.row["hurt"] = sum(one.personal[k] < base[k] for k in both) / len(both)


def _how_to_get_local(seen: Sequence[_Seen]) -> list[str]:
    """The command for the run of ``local`` that is missing for helped and hurt; that of the first run that has none."""
    for one in seen:
        if one.finished and one.personal and one.row["method"] != "local" and "helped" not in one.row:
            options = one.setting.options if one.setting is not None else ""
            command = f"fedkin run --method local … --seed {one.row['seed']} {options}".rstrip()
            return [f"helped, hurt: add a finished run of local on the same data as {one.row['run']}: {command}"]
    return []


def _over_seeds(seen: Sequence[_Seen]) -> pd.DataFrame:
    groups: dict[str, dict[Any, _Seen]] = {}
    for one in seen:
        if one.finished:
            groups.setdefault(one.experiment, {}).setdefault(one.row["seed"], one)
    rows = []
    for group in groups.values():
        if len(group) < 2:
            continue
        first = next(iter(group.values()))
        table = pd.DataFrame([one.row for one in group.values()]).reindex(columns=[*NUMBERS, *AGAINST]).astype(float)
        row = {"method": first.row["method"], "hyper": first.hyper, "rounds": first.row["rounds"]}
        row["seeds"] = sorted(group, key=str)
        for column in table.columns:
            row[column], row[f"{column} sd"] = table[column].mean(skipna=False), table[column].std(ddof=1, skipna=False)
        rows.append(row)
    columns = ["method", "hyper", "rounds", "seeds"]
    columns += [name for column in (*NUMBERS, *AGAINST) for name in (column, f"{column} sd")]
    return pd.DataFrame(rows, columns=columns)


def _twice(seen: Sequence[_Seen]) -> list[str]:
    groups: dict[tuple[str, Any], list[str]] = {}
    for one in seen:
        if one.finished:
            groups.setdefault((one.experiment, one.row["seed"]), []).append(one.row["run"])
    return [
        f"the same experiment with the same seed, counted once over seeds: {_few(names)}"
        for names in groups.values()
        if len(names) > 1
    ]


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' own names, or their whole paths where those are not unique."""
    short = [Path(folder).name or str(folder) for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
