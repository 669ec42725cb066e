"""From numbers to a verdict: does what a claim says hold in the runs that were made?

A test of a claim becomes one or more statements "the mean of these values is over (or under) a
bound". The values are paired: differences of the same client under the same seed. A statement holds
where the whole interval and every seed's mean are on the claim's side; it fails where both are on
the other side; else it is undecided. It is undecided, too, where no client's score differs under
any seed of two rows: two runs that are the same test nothing.

The interval has 95 %, by Student's t: seeds are a sample, and so are the clients of each; where the
clients are the same persons under every seed, there is one sample of persons for all seeds. Of runs
that are kept as one number a seed there are no clients: the seeds decide alone, without an
interval. That rule lets a difference that is none hold in 1 of 2^seeds cases: of eight with three
seeds.

Whether a row varies less over seeds than another is decided by the interval alone (Pitman, 1939;
Morgan, 1939): both rows have the same seeds, and what is judged is the ratio of their sds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from fedkin.core.errors import many
from fedkin.report.intervals import LEVEL, over_seeds_and_clients
from fedkin.reproduce.claim import Case, Claim
from fedkin.reproduce.claim_numbers import EXACT

Floats = npt.NDArray[np.float64]
# by seed: client → number; a number of the whole run has the client ""
Values = Sequence[Mapping[str, float]]
Rows = Mapping[str, Sequence[Values]]  # by key of the test

HOLDS, ONLY, FAILS, OPEN = "holds", "holds only where", "does not hold", "undecided"
VERDICTS = (HOLDS, ONLY, FAILS, OPEN)  # of a claim
SAME = "the runs are the same for every client"
NO_NUMBER = "a seed has no finite number"
BOUND_INSIDE = "the interval has the bound in it"
INTERVAL = "Student's t"  # of all kinds but steadier; a verdict by another one is judged again
SEEDS = 3  # below them nothing is decided, unless the measure is exact
MANY = {"steadier": 5}  # kinds that need more: of three numbers an sd says little


class Finding(NamedTuple):
    """``effect``: the mean of the values that were judged, between ``low`` and ``high``; nan where
    there are none. ``means``: each seed's, where the seeds decided alone. ``against``: the row that
    the verdict is of, where there are several; of a verdict that was kept only ``why`` says it.
    ``untested``: the bound was not asked, for too few seeds, say; ``why`` is then why.
    """

    verdict: str
    effect: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    seeds: int = 0
    why: str = ""
    means: tuple[float, ...] = ()
    against: str = ""
    untested: bool = False


class Statement(NamedTuple):
    """The mean of ``values`` (one array a seed) is over ``bound``, or under it.

    ``strict``: at the bound it is not. ``share``: the values are 0 or 1, so that no interval goes
    beyond them. ``against``: the row that it is compared with, where there are several. ``apart``:
    the values are of two rows that are to be two runs; of the best of several a rule that chooses
    may well come to one of the others.
    """

    values: list[Floats]
    bound: float
    over: bool = True
    strict: bool = True
    share: bool = False
    against: str = ""
    apart: bool = False


def judge(
    case: Case, numbers: Mapping[str, Values], persons: bool = False, clients: bool = True
) -> Finding:
    """The finding of one test. A row that is below one of the others is not the best, whatever
    those that were not run say.

    Args:
        case: The test.
        numbers: row → its values, a dict a seed; rows without runs may be missing.
        persons: Whether a client is the same one under every seed; those are judged whom all runs
            have.
        clients: Whether the values are by client; without them the seeds decide alone.

    Returns:
        The verdict, with the mean of what was judged and its 95 % interval.
    """
    missing = [name for name in case.needs if not numbers.get(name)]
    why = f"{many(len(missing), 'row')} not run: {', '.join(missing)}"
    untested = Finding(OPEN, why=why, untested=True)
    if missing and case.kind == "best":
        rest = tuple(name for name in case.rows["among"] if name not in missing)
        if not set(case.rows["row"]) & set(missing) and set(rest) - set(case.rows["row"]):
            fewer = case._replace(rows={**case.rows, "among": rest})
            finding = judge(fewer, numbers, persons, clients)
            return finding if finding.verdict == FAILS else untested
    if missing:
        return untested
    seeds = min(len(numbers[name]) for name in case.needs)
    if persons:
        numbers = _of_everybody({name: numbers[name][:seeds] for name in case.needs})
    if case.kind == "steadier":
        own, other = (numbers[case.rows[key][0]][:seeds] for key in ("row", "than"))
        return _steadier(_means(own), _means(other), needed(case))
    made = statements(case, numbers, seeds)
    found_all = [_judged(one, needed(case), persons, clients) for one in made]
    worst = min(found_all, key=lambda one: _RANK[one.verdict])
    alike = (one for one in found_all if one.verdict == worst.verdict)
    return min(alike, key=lambda one: one.effect)


def needed(case: Case) -> int:
    """The seeds below which nothing is decided.

    Args:
        case: The test.

    Returns:
        A number of seeds, from 1.
    """
    return 1 if case.measure in EXACT else MANY.get(case.kind, SEEDS)


_RANK = {FAILS: 0, OPEN: 1, HOLDS: 2}


def verdict_of(claim: Claim, findings: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
    """The claim's verdict, and the cases where it holds: (``holds only where``, ("mnist",
    "fmnist")).

    A claim that has failed nowhere and has cases with too few seeds is undecided.

    Args:
        claim: Whose cases were tested.
        findings: A finding a case, in their order.

    Returns:
        (the verdict, names of the cases).
    """
    names = tuple(
        case.name for case, one in zip(claim.cases, findings, strict=True) if one.verdict == HOLDS
    )
    verdicts = {one.verdict for one in findings}
    if verdicts == {HOLDS}:
        return HOLDS, names
    if FAILS in verdicts:
        return (ONLY if names else FAILS), names
    everywhere = all(
        one.verdict == HOLDS or one.seeds >= needed(case)
        for case, one in zip(claim.cases, findings, strict=True)
    )
    return (ONLY if names and everywhere else OPEN), names


def statements(case: Case, numbers: Mapping[str, Values], seeds: int) -> list[Statement]:
    """What has to be true of the numbers for the test to be passed.

    Args:
        case: The test.
        numbers: row → its values, a dict a seed.
        seeds: How many seeds all rows have.

    Returns:
        One or several, of which all have to be true.
    """
    rows = {key: [numbers[name][:seeds] for name in names] for key, names in case.rows.items()}
    return _STATEMENTS[case.kind](case, rows)


def _margin(case: Case) -> float:
    return case.bounds.get("margin", 0.0)


def _above(case: Case, rows: Rows) -> list[Statement]:
    apart = _apart(rows["high"][0], rows["low"][0])
    held = [Statement(apart, _margin(case), apart=True)]
    if "at_most" in case.bounds:
        most = case.bounds["at_most"]
        held.append(Statement(apart, most, over=False, strict=False, apart=True))
    return held


def _within(case: Case, rows: Rows) -> list[Statement]:
    apart, margin = _apart(rows["row"][0], rows["of"][0]), _margin(case)
    return [
        Statement(apart, -margin, strict=False, apart=True),
        Statement(apart, margin, over=False, strict=False, apart=True),
    ]


def _best(case: Case, rows: Rows) -> list[Statement]:
    own, others = rows["row"][0], zip(case.rows["among"], rows["among"], strict=True)
    return [
        Statement(_apart(own, other), _margin(case), against=name)
        for name, other in others
        if name not in case.rows["row"]
    ]


def _trend(case: Case, rows: Rows) -> list[Statement]:
    rise = _rise(rows["over"])
    if case.direction == "up":
        return [Statement(rise, _margin(case))]
    return [Statement(rise, -_margin(case), over=False)]


def _order(case: Case, rows: Rows) -> list[Statement]:
    named = zip(case.rows["over"], rows["over"], strict=True)
    return [
        Statement(_apart(higher, lower), _margin(case), against=name, apart=True)
        for (name, lower), (_, higher) in pairwise(named)
    ]


def _reaches(case: Case, rows: Rows) -> list[Statement]:
    return [_at_least_or_most(case, _arrays(rows["row"][0]))]


def _of_ratio(case: Case, rows: Rows) -> list[Statement]:
    return [_at_least_or_most(case, _ratio(rows["row"][0], rows["to"][0]))]


def _at_least_or_most(case: Case, values: list[Floats]) -> Statement:
    if "at_least" in case.bounds:
        return Statement(values, case.bounds["at_least"], strict=False)
    return Statement(values, case.bounds["at_most"], over=False, strict=False)


def _share(case: Case, rows: Rows) -> list[Statement]:
    apart = _apart(rows["high"][0], rows["low"][0])
    won = [np.asarray(each > 0, dtype=float) for each in apart]
    return [Statement(won, case.bounds["at_least"], strict=False, share=True)]


# all KINDS but steadier, which is judged by sds
_STATEMENTS: dict[str, Callable[[Case, Rows], list[Statement]]] = {
    "above": _above,
    "within": _within,
    "best": _best,
    "trend": _trend,
    "order": _order,
    "reaches": _reaches,
    "ratio": _of_ratio,
    "share": _share,
}


def _of_everybody(numbers: Mapping[str, Values]) -> dict[str, Values]:
    """Of those whom every row has under every seed, in one order."""
    runs = [set(one) for values in numbers.values() for one in values]
    common = sorted(set.intersection(*runs))
    return {
        name: [{who: one[who] for who in common} for one in values]
        for name, values in numbers.items()
    }


def _judged(statement: Statement, least: int, persons: bool, clients: bool) -> Finding:
    values, bound = statement.values, statement.bound
    if not values or any(not len(each) for each in values):
        return Finding(OPEN, why="no client is in both runs", untested=True)
    means = np.round([each.mean() for each in values], 9)
    finite = bool(np.isfinite(means).all())  # a ratio to nothing is not, nor what a nan is in
    sure = clients and finite
    low, high = over_seeds_and_clients(values, persons) if sure else (math.nan, math.nan)
    if statement.share and sure:
        low, high = max(low, 0.0), min(high, 1.0)
    against = f"against {statement.against}" if statement.against else ""
    alone = () if clients else tuple(map(float, means))
    effect, row = float(means.mean()), statement.against
    finding = Finding(OPEN, effect, low, high, len(values), against, alone, row)
    untested = finding._replace(untested=True)
    if len(values) < least:
        return untested._replace(why=f"{many(len(values), 'seed')} of at least {least}")
    if not finite:
        return untested._replace(why=NO_NUMBER)
    if statement.apart and least > 1 and not any(each.any() for each in values):
        # each client's score is the same to the last digit: what the claim is about never acted
        return untested._replace(why=f"{SAME}, {against}" if against else SAME)
    bottom, top = float(np.nanmin([low, *means])), float(np.nanmax([high, *means]))
    worst, best = (bottom, top) if statement.over else (-top, -bottom)
    at = bound if statement.over else -bound
    if worst > at or (worst == at and not statement.strict):
        return finding._replace(verdict=HOLDS)
    if best < at or (best == at and statement.strict):
        return finding._replace(verdict=FAILS)
    why = BOUND_INSIDE if low <= bound <= high else "seeds disagree"
    return finding._replace(why=f"{why}, {against}" if against else why)


def _apart(first: Values, second: Values) -> list[Floats]:
    """first − second of the clients that both have, seed by seed; rounded: equal numbers differ by
    exactly 0.
    """
    return [
        np.round(np.array([one[k] - other[k] for k in one if k in other], dtype=float), 9)
        for one, other in zip(first, second, strict=True)
    ]


def _rise(rows: Sequence[Values]) -> list[Floats]:
    """By seed and client: the rise of the least-squares line through the rows, from the first to
    the last.
    """
    at = np.linspace(-0.5, 0.5, len(rows))
    weights = at / (at**2).sum()
    slopes = []
    for each in zip(*rows, strict=True):
        common = [k for k in each[0] if all(k in other for other in each)]
        slopes.append(
            np.round(
                np.array([[one[k] for k in common] for one in each], dtype=float).T @ weights, 9
            )
        )
    return slopes


def _ratio(first: Values, second: Values) -> list[Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):  # to nothing there is no ratio
        return [np.array([ratio]) for ratio in _means(first) / _means(second)]


def _steadier(own: Floats, other: Floats, least: int) -> Finding:
    """The ratio of the other's sd over seeds to its own, with the interval of Pitman and Morgan."""
    seeds = len(own)
    few = f"{many(seeds, 'seed')} of at least {least}"
    finding = Finding(OPEN, seeds=seeds, why=few, untested=True)
    if seeds < SEEDS:
        return finding
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal numbers the sd is 0
        ratio = float(np.std(other, ddof=1) / np.std(own, ddof=1))
        correlation = float(np.corrcoef(own, other)[0, 1])
    if not math.isfinite(ratio * correlation):
        return finding._replace(why=NO_NUMBER)
    finding = finding._replace(effect=round(ratio, 9))
    if seeds < least:
        return finding
    quantile = float(stdtrit(seeds - 2, (1 + LEVEL) / 2))
    wide = 1 + 2 * (1 - correlation**2) * quantile**2 / (seeds - 2)
    apart = math.sqrt(max(wide**2 - 1, 0.0))
    low, high = (round(ratio * math.sqrt(wide + side * apart), 9) for side in (-1, 1))
    verdict = HOLDS if low > 1 else FAILS if high < 1 else OPEN
    why = BOUND_INSIDE if verdict == OPEN else ""
    return finding._replace(verdict=verdict, low=low, high=high, why=why, untested=False)


def _means(values: Values) -> Floats:
    """Of each seed."""
    return np.array([np.mean(list(one.values())) for one in values], dtype=float)


def _arrays(values: Values) -> list[Floats]:
    return [np.array(list(one.values()), dtype=float) for one in values]
