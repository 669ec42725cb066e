"""Runs against a baseline, client by client: the same clients with the same data, so their
differences are paired.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedkin.core.errors import FedkinError, most_like, some
from fedkin.core.measures import difference, measure_named
from fedkin.report import formatting
from fedkin.report.comparison.best_setting import comparable_groups
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.pairs import by_pair
from fedkin.report.comparison.run_row import ComparedRun, by_experiment
from fedkin.report.comparison.signed_rank import signed_rank
from fedkin.report.intervals import Pair, mean_of_pairs, over_pairs

DEFAULT = "local"
COLUMNS = [
    "method",
    "setting",
    "seeds",
    "clients",
    "measure",
    "difference",
    "low",
    "high",
    "p",
    "better",
    "worse",
]


def best_of(pairs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The experiment that gains most on the baseline, or loses least.

    Args:
        pairs: Rows of ``against``.

    Returns:
        One of the rows; None where none of them has a pair.
    """
    known = [row for row in pairs if row["difference"] is not None]
    return max(known, key=gain_of, default=None)


def gain_of(row: Mapping[str, Any]) -> float:
    """By how much an experiment is better than the baseline.

    Args:
        row: Of ``against``, with a difference.

    Returns:
        In the measure's unit; more is better, whatever the measure.
    """
    gain: float = measure_named(row["measure"]).sign * row["difference"]
    return gain


def against(
    seen: Sequence[ComparedRun], baseline: str | None
) -> tuple[str, list[ComparedRun], list[dict[str, Any]], list[str]]:
    """(name of the baseline, its runs, one row an experiment that was paired with it, warnings).

    ``difference``: mean over seeds of the mean over pairs of (run − baseline) in the comparison's
    measure, final, personal, on test, with a 95 % interval ``low`` … ``high``; ``p``: Wilcoxon's
    signed-rank test, two-sided, of one seed; ``better``, ``worse``: shares of the pairs. A pair is
    one client under one seed.

    Args:
        seen: The runs.
        baseline: A run by its name, or a method; None: local, else the first run.

    Returns:
        (name of the baseline, its runs, rows with COLUMNS, a sentence for each run without a
        partner).

    Raises:
        FedkinError: No finished run is called so, or is of that method.
    """
    groups = by_experiment(seen)
    name, bases = _baseline(groups, baseline, labels(groups))
    rows, warnings = [], []
    for group, label in zip(groups, labels(groups), strict=True):
        if group in bases:
            continue
        pairs = [(one, base) for one in group if (base := _partner(one, bases)) is not None]
        known = [one for one in group if not one.summed]  # the rest is said where runs are named
        unpaired = [one.name for one in known if all(one is not paired for paired, _ in pairs)]
        if unpaired:
            warnings.append(
                f"no finished run of {name} with the seed and client data of {', '.join(unpaired)}"
            )
        pairs = [(one, base) for one, base in pairs if not one.summed and not base.summed]
        apart = differences(pairs)
        if len(apart):
            row = {
                "method": group[0].row["method"],
                "setting": label,
                "seeds": [one.row["seed"] for one, _ in pairs],
            }
            rows.append(row | statistics(apart, group[0].measure))
        elif pairs:
            alone = ", ".join(one.name for one, _ in pairs)
            measure = formatting.label(group[0].measure)
            warnings.append(f"no client has a test {measure} both in {alone} and in {name}")
    if len(bases) > 1 and rows:
        warnings.append(
            f"several settings of {name} are given: the first that fits is the baseline"
            + ("; --best chooses" if comparable_groups(bases) else "")
        )
    return name, [base for group in bases for base in group], rows, warnings


def differences(pairs: Sequence[tuple[ComparedRun, ComparedRun]]) -> dict[Pair, float]:
    """run − baseline of every client that both have; rounded, so that equal accuracies differ by
    exactly 0.

    Args:
        pairs: (run, baseline), one a seed.

    Returns:
        In the measure's unit.
    """
    of_runs = by_pair((one, _shared(one, base)) for one, base in pairs)
    of_bases = by_pair((one, _shared(base, one)) for one, base in pairs)
    return {pair: difference(value, of_bases[pair]) for pair, value in of_runs.items()}


def _shared(one: ComparedRun, other: ComparedRun) -> dict[int, float]:
    """The scores of the clients whom another run has, too."""
    return {k: value for k, value in one.personal.items() if k in other.personal}


def statistics(apart: Mapping[Pair, float], measure: str) -> dict[str, Any]:
    """The numbers of one row; of some measures less is better.

    Clients of one seed share a model. So of several seeds the seeds are the sample, and the clients
    of each; and Wilcoxon's test, for which all pairs are independent, is of one seed.

    Args:
        apart: Differences, in the measure's unit.
        measure: Of which they are.

    Returns:
        "better" and "worse" are shares in 0..1, "p" a probability, None of several seeds.
    """
    every = np.array(list(apart.values()))
    gain = measure_named(measure).sign * every
    alone = len({pair.seed for pair in apart}) == 1
    low, high = possible_ends(over_pairs(apart), measure)
    return {
        "clients": len(every),
        "measure": measure,
        "difference": mean_of_pairs(apart),
        "low": low,
        "high": high,
        "p": signed_rank(every) if alone else None,
        "better": float((gain > 0).mean()),
        "worse": float((gain < 0).mean()),
    }


def possible_ends(
    ends: tuple[float | None, float | None], measure: str
) -> tuple[float | None, float | None]:
    """An interval of differences, whose ends do not go beyond the largest that can be: those of two
    clients, or of two seeds, would.

    Args:
        ends: (low, high); None: there is no interval.
        measure: Of which the differences are.

    Returns:
        (low, high), in the measure's unit.
    """
    low, high = ends
    if low is None or high is None:
        return ends
    most = measure_named(measure).most - measure_named(measure).least
    return max(low, -most), min(high, most)


def excludes_zero(row: Mapping[str, Any]) -> bool:
    """Whether a row's interval leaves out 0; one pair has no interval.

    Args:
        row: As ``against`` gives it.

    Returns:
        False where the difference may be chance.
    """
    low, high = row["low"], row["high"]
    return low is not None and high is not None and (low > 0 or high < 0)


def pairs_of(row: Mapping[str, Any]) -> str:
    """What the shares of a row are of: a client is several pairs under several seeds.

    Args:
        row: As ``against`` gives it.

    Returns:
        "client" or "pair".
    """
    return "client" if len(row["seeds"]) == 1 else "pair"


def _baseline(
    groups: list[list[ComparedRun]], wanted: str | None, remarks: list[str]
) -> tuple[str, list[list[ComparedRun]]]:
    """What the others are held against: a run by its name, else a method, else local, else the
    first.
    """
    if not groups:
        return "", []
    methods = {str(group[0].row["method"]) for group in groups}
    if wanted is not None:
        named = [[one for one in group if one.name == wanted.rstrip("/")] for group in groups]
        if any(named):
            return wanted, [group for group, runs in zip(groups, named, strict=True) if runs]
        method = wanted.lower().replace("-", "_")
        if method not in methods:
            runs = sorted({one.name for group in groups for one in group})
            like = most_like(wanted, [*sorted(methods), *runs])
            raise FedkinError(
                f"--against {wanted}: no finished run of it is among these: "
                f"{', '.join(sorted(methods))} (by name: {some(runs)})"
                + (f": did you mean {like!r}?" if like else "")
            )
        wanted = method
    elif DEFAULT in methods:
        wanted = DEFAULT
    if wanted is not None:
        return wanted, [group for group in groups if group[0].row["method"] == wanted]
    first = next((k for k, group in enumerate(groups) if not group[0].summed), 0)
    return f"{groups[first][0].row['method']} {remarks[first]}".strip(), [groups[first]]


def _partner(one: ComparedRun, bases: Sequence[Sequence[ComparedRun]]) -> ComparedRun | None:
    """The run of the baseline with the same seed and the same client data."""
    fitting = (base for group in bases for base in group if base.row["seed"] == one.row["seed"])
    return next(
        (base for base in fitting if base.same_data(one) and base.measure == one.measure), None
    )
