"""Which seeds' runs of several experiments compare with each other."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fedkin.core.errors import some
from fedkin.report.comparison.run_row import ComparedRun


class Compared(NamedTuple):
    """The runs that are compared, by experiment; which experiments have a rank; a note."""

    groups: list[list[ComparedRun]]
    ranked: list[bool]
    note: str


def common_seeds(groups: Sequence[list[ComparedRun]]) -> Compared:
    """The runs of the seeds that all groups have, or else all those with the seed that most have.

    An experiment under a lucky seed would lead one that it loses to under every seed of both; and
    one without a seed in common with the others has no difference from them.

    Args:
        groups: Runs by experiment.

    Returns:
        The runs that are compared, which experiments have a rank, and a note.
    """
    seeds = [{one.row["seed"] for one in group if one.personal} for group in groups]
    if all(mine == seeds[0] for mine in seeds):
        return Compared(list(groups), [True] * len(groups), "")
    among = seeds if set.intersection(*seeds) else _with_one_in_common(seeds)
    if len(among) < 2:
        note = "; –: no two have a seed in common, so none has a rank"
        return Compared(list(groups), [False] * len(groups), note)
    common = set.intersection(*among)
    ranked = [common <= mine for mine in seeds]
    kept = [
        [one for one in group if one.row["seed"] in common] if sure else group
        for group, sure in zip(groups, ranked, strict=True)
    ]
    shown = some([str(seed) for seed in sorted(common, key=str)], 5)
    note = f"; of {'seed' if len(common) == 1 else 'seeds'} {shown} alone"
    note += ", which all have" if all(ranked) else "; –: no run of it, so no rank"
    return Compared(kept, ranked, note)


def _with_one_in_common(seeds: Sequence[set[Any]]) -> list[set[Any]]:
    """Those with the seed that most of them have."""
    every = dict.fromkeys(seed for mine in seeds for seed in sorted(mine, key=str))
    most = max(every, key=lambda seed: sum(seed in mine for mine in seeds))
    return [mine for mine in seeds if most in mine]
