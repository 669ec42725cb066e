"""Runs side by side: one row a run, one row for runs that differ in their seed only, and what
cannot be compared.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedkin.core.errors import FedkinError, some, unknown
from fedkin.core.measures import MEASURES, gain_on, is_measure
from fedkin.report.comparison import best_setting, paired
from fedkin.report.comparison.experiments.over_seeds import AGAINST, number, over_seeds
from fedkin.report.comparison.experiments.repeats import each_folder_once, each_run_once
from fedkin.report.comparison.run_row import NUMBERS, ComparedRun, names, read_run
from fedkin.report.words.run_words import unequal_rounds

__all__ = [
    "Comparison",
    "Row",
    "compare",
    "comparison",
    "helped_and_hurt",
    "how_to_get_local",
    "same_setting",
]

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["run", "method", "seed", "state", "rounds", "measure", *NUMBERS, *AGAINST]


OVER_SEEDS = [
    *("method", "setting", "hyper", "rounds", "seeds"),
    *(name for column in (*NUMBERS, *AGAINST) for name in (column, f"{column} sd")),
]
Row = dict[str, Any]


class Comparison(NamedTuple):
    """``rows``: one a run (COLUMNS). ``over_seeds``: mean and sample standard deviation over seeds
    of FINISHED runs that differ in nothing else. ``pairs``: one row an experiment, paired with
    ``baseline``, whose runs are ``bases``, client by client (see ``paired.against``). ``settings``:
    those among which validation data chose (see ``best_setting.best``). ``warnings``: one sentence
    for each thing that makes runs incomparable. ``hints``: how to get what is missing. ``seen``:
    the runs, as they were looked at. ``measure``: what all numbers are that choose or compare.

    ``runs``, ``seeds``, ``against`` and ``choice`` are the rows as DataFrames, made when they are
    asked for: the command prints rows, and loads no pandas.
    """

    rows: list[Row]
    over_seeds: list[Row]
    baseline: str
    bases: list[ComparedRun]
    pairs: list[Row]
    settings: list[Row]
    warnings: list[str]
    hints: list[str]
    seen: list[ComparedRun]
    measure: str = "accuracy"

    @property
    def runs(self) -> "pd.DataFrame":
        """One row a run."""
        import pandas as pd

        frame = pd.DataFrame(self.rows, columns=COLUMNS, dtype=object)
        return frame.astype(dict.fromkeys([*NUMBERS, *AGAINST], float))

    @property
    def seeds(self) -> "pd.DataFrame":
        """Mean and standard deviation over seeds."""
        import pandas as pd

        return pd.DataFrame(self.over_seeds, columns=OVER_SEEDS)

    @property
    def against(self) -> "pd.DataFrame":
        """One row an experiment, client by client against the baseline."""
        import pandas as pd

        return pd.DataFrame(self.pairs, columns=paired.COLUMNS)

    @property
    def choice(self) -> "pd.DataFrame":
        """One row a setting among which validation data chose."""
        import pandas as pd

        return pd.DataFrame(self.settings, columns=best_setting.COLUMNS)


def compare(folders: Sequence[Path]) -> "pd.DataFrame":
    """One row a run; scores are the experiment's measure on test.

    ``helped``/``hurt``: shares of clients whose final personal score is better/worse than that of a
    finished run of ``local`` on the same data (nan if there is none). A run that is unfinished or
    damaged says so in ``state``.

    Args:
        folders: The runs'.

    Returns:
        The rows, with COLUMNS.

    Raises:
        FedkinError: There is no run at all.
    """
    return comparison(folders).runs


def comparison(
    folders: Sequence[Path],
    against: str | None = None,
    best: bool = False,
    measure: str | None = None,
) -> Comparison:
    """``compare``, with the table over seeds, the paired statistics and the warnings.

    Args:
        folders: The runs'.
        against: A method or the name of a run that the others are paired with; else local, else the
            first run.
        best: Of several hyper-parameter settings of a method keep the one that validation data
            choose.
        measure: What to go by; else what the runs go by.

    Returns:
        The tables as rows.

    Raises:
        FedkinError: There is no run, no such measure, or no finished run that has it.
    """
    if not folders:
        raise FedkinError("there is nothing to compare: give at least one run directory")
    if measure is not None and not is_measure(measure):
        raise unknown("measure", measure, MEASURES)
    named = against.rstrip("/") if against else None
    seen, repeated = each_run_once(_by_one_measure(each_folder_once(folders), measure), named)
    whole = [one for one in seen if one.finished and one.personal]
    if measure is not None and not whole:
        raise FedkinError(f"no finished run has {measure} of its clients: choose another measure")
    choice: list[dict[str, Any]] = []
    unchosen: list[str] = []
    if best:
        seen, choice, unchosen = best_setting.best(seen)
    helped_and_hurt(seen)
    baseline, bases, pairs, unpaired = paired.against(seen, against)
    other_data = same_setting(seen)  # which says enough of why runs are not paired
    of_runs = [*_longer(seen), *repeated, *_said(seen), *_hidden(seen)]
    return Comparison(
        rows=[_row(one) for one in seen],
        over_seeds=over_seeds(seen),
        baseline=baseline,
        bases=bases,
        pairs=pairs,
        settings=choice,
        warnings=[*other_data, *of_runs, *unchosen, *([] if other_data else unpaired)],
        hints=how_to_get_local(seen),
        seen=seen,
        measure=next((one.measure for one in seen if one.measure), "accuracy"),
    )


def _by_one_measure(folders: Sequence[Path], asked: str | None) -> list[ComparedRun]:
    """The runs, all by one measure: the one asked for, else the first run's that all finished ones
    have.
    """
    named = list(zip(map(Path, folders), names(folders), strict=True))
    seen = [read_run(folder, name, asked) for folder, name in named]
    own = list(dict.fromkeys(one.measure for one in seen if one.finished and one.personal))
    if asked is not None or len(own) < 2:
        return seen
    for measure in own:
        again = [read_run(folder, name, measure) for folder, name in named]
        if all(one.personal or one.summed for one in again if one.finished):
            return again
    return seen


def same_setting(seen: Sequence[ComparedRun]) -> list[str]:
    """A warning if the runs are not all of the same client data, and why where only the public set
    differs.

    Args:
        seen: The runs.

    Returns:
        [] or one sentence.
    """
    groups: list[list[ComparedRun]] = []
    for one in seen:
        if one.setting is not None:
            fitting = next(
                (group for group in groups if all(one.same_data(other) for other in group)), None
            )
            if fitting is None:
                groups.append(fitting := [])
            fitting.append(one)
    if len(groups) < 2:
        return []
    parts = "; ".join(some([one.name for one in group], 3) for group in groups)
    reasons = dict.fromkeys(
        reason for group in groups[1:] if (reason := _only_public(groups[0][0], group[0]))
    )
    sentences = [f"not the same client data, so the numbers do not compare: {parts}", *reasons]
    return ["; ".join(sentences)]


def _only_public(one: ComparedRun, other: ComparedRun) -> str:
    """What to do where nothing but the public set differs; else ""."""
    if one.setting is None or other.setting is None or one.setting.core != other.setting.core:
        return ""
    if one.setting.public == other.setting.public:
        return ""
    if one.setting.public and other.setting.public:
        return f"{one.name} and {other.name} have different public sets"
    having, lacking = (one, other) if one.setting.public else (other, one)
    assert having.setting is not None
    held = having.setting.public["source"] == "held-out"
    has = (
        "holds public samples out"
        if held
        else f"has the public set {having.setting.public['source']}"
    )
    return (
        f"{having.row['method']} {has}; run {lacking.row['method']} with "
        f"{having.setting.options} to compare"
    )


def helped_and_hurt(seen: Sequence[ComparedRun]) -> None:
    """Fills these columns of the rows of finished runs: another is in no pair.

    Args:
        seen: The runs; their rows are changed.
    """
    finished = [one for one in seen if one.finished]
    local = [one for one in finished if one.row.get("method") == "local"]
    for one in finished:
        alike = (
            o for o in local if o.row["seed"] == one.row.get("seed") and o.measure == one.measure
        )
        fitting = (o.personal for o in alike if one.same_data(o))
        base = next(fitting, {})
        both = [k for k in one.personal if k in base]
        if both and one.row["method"] != "local":
            gains = [gain_on(one.measure, one.personal[k], base[k]) for k in both]
            one.row["helped"] = sum(gain > 0 for gain in gains) / len(both)
            one.row["hurt"] = sum(gain < 0 for gain in gains) / len(both)


def how_to_get_local(seen: Sequence[ComparedRun]) -> list[str]:
    """The command for the run of ``local`` that is missing for helped and hurt.

    Args:
        seen: The runs, after ``helped_and_hurt``.

    Returns:
        [] or one sentence: of the first run that has no such run beside it.
    """
    for one in seen:
        if (
            one.finished
            and one.personal
            and one.row["method"] != "local"
            and "helped" not in one.row
        ):
            options = one.setting.options if one.setting is not None else ""
            command = f"fedkin run --method local … --seed {one.row['seed']} {options}".rstrip()
            return [
                f"helped, hurt: add a finished run of local on the same data as {one.name}: "
                f"{command}"
            ]
    return []


def _row(one: ComparedRun) -> Row:
    """Of COLUMNS; a number that a run has not is nan."""
    row = {column: one.row.get(column) for column in COLUMNS}
    return row | {column: number(row[column]) for column in (*NUMBERS, *AGAINST)}


def _longer(seen: Sequence[ComparedRun]) -> list[str]:
    """Who had more rounds may be better for that alone."""
    groups: dict[int, list[str]] = {}
    for one in seen:
        if one.finished:
            groups.setdefault(one.row["rounds"], []).append(one.name)
    return [unequal_rounds(groups)] if len(groups) > 1 else []


def _said(seen: Sequence[ComparedRun]) -> list[str]:
    """What is to be said of single runs. By accuracy a client that diverged counts with 0; by any
    other measure means and pairs are without it, so that a run may look better for having hurt it.
    And some means are of the clients that were asked.
    """
    return [f"{one.name}: {sentence}" for one in seen for sentence in one.said]


def _hidden(seen: Sequence[ComparedRun]) -> list[str]:
    """Whose clients' scores nobody has, so that it has no rank and no pair."""
    return [
        f"{one.name}: scores of single clients are hidden by secure aggregation, so it is neither "
        "ranked nor paired"
        for one in seen
        if one.finished and one.summed
    ]
