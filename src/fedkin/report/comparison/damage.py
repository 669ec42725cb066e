"""What attackers cost honest clients: an attacked run beside the same run without the attack."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from fedkin.core.measures import measure_named
from fedkin.core.system.digests import text_of
from fedkin.report import formatting
from fedkin.report.comparison.run_row import ComparedRun
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.records import Run, opened
from fedkin.runs.bounds import is_number
from fedkin.runs.record import CLUSTER

ATTACK, ATTACKER, KEPT = "attack", "attacker", "kept"
EVERYBODY = "all"
KEEPING = ("out", "commit_every")


class Damage(NamedTuple):
    """Of one group of honest clients.

    run: the attacked one. group: "all", or a cluster of the run without attack. honest: how many.
    without, under: their mean without and with the attack. each: client's name → what it lost,
    below 0 where it gained. attackers: their part of all that the rule used in the last round, None
    where no rule says it.
    """

    run: str
    measure: str
    group: str
    honest: int
    without: float
    under: float
    each: Mapping[str, float]
    attackers: float | None


def damages(seen: Sequence[ComparedRun]) -> list[Damage]:
    """Every attacked run whose counterpart without the attack is among the runs as well.

    Args:
        seen: Runs that were looked at; those that are damaged or unfinished are passed over.

    Returns:
        All honest clients first, then cluster by cluster where the method has clusters.
    """
    if not any(one.attacked for one in seen):
        return []
    read = [_read(one) for one in seen if one.finished and one.folder is not None]
    damages_seen = []
    for one in read:
        clean = next((other for other in read if _counterpart(one, other)), None)
        if one.hostile and clean is not None:
            damages_seen += _of(one, clean)
    return damages_seen


class _Read(NamedTuple):
    seen: ComparedRun
    same: str  # the specification without its attack and its data, and the seed
    names: Mapping[int, str]
    hostile: frozenset[int]
    kept: Mapping[int, float]
    clusters: Mapping[int, int]


def _read(one: ComparedRun) -> _Read:
    assert one.folder is not None
    with opened(one.folder) as run:
        spec = dict(run.facts.get("spec") or {})
        others = [t for t in spec.get("transforms") or [] if t.get("name") != ATTACK]
        apart = {"transforms": others, "run": _run_section(spec), "data": None, "engine": None}
        same = text_of([{**spec, **apart}, run.facts.get("seed")])
        names = {k: run.name(k) for k in run.clients}
        hostile = frozenset(k for k, value in _last(run, ATTACKER).items() if value > 0)
        clusters = {k: int(value) for k, value in _last(run, CLUSTER).items()}
        return _Read(one, same, names, hostile, _of_last_round(run, KEPT), clusters)


def _run_section(spec: Mapping[str, Any]) -> dict[str, Any]:
    """[run] without what moves no number: where it is kept, and how often."""
    return {name: value for name, value in (spec.get("run") or {}).items() if name not in KEEPING}


def _last(run: Run, name: str) -> dict[int, float]:
    """The last number that was noted of each client under a name."""
    query = "SELECT client, value, max(round) FROM notes WHERE name = ? GROUP BY client"
    return _numbers_of(run, [(client, value) for client, value, _ in run.rows(query, name)])


def _of_last_round(run: Run, name: str) -> dict[int, float]:
    """The same of the last round that has any: numbers of several rounds do not add up."""
    last = "SELECT max(round) FROM notes WHERE name = ?"
    query = f"SELECT client, value FROM notes WHERE name = ? AND round = ({last})"
    return _numbers_of(run, run.rows(query, name, name))


def _numbers_of(run: Run, rows: Iterable[tuple[int, str]]) -> dict[int, float]:
    each = {client: run.read(value) for client, value in rows}
    return {k: float(value) for k, value in each.items() if is_number(value)}


def _counterpart(one: _Read, other: _Read) -> bool:
    if one is other or other.hostile or one.same != other.same:
        return False
    return one.seen.same_data(other.seen)


def _of(one: _Read, clean: _Read) -> list[Damage]:
    both = [k for k in one.seen.personal if k in clean.seen.personal and k not in one.hostile]
    groups: dict[str, list[int]] = {EVERYBODY: both}
    for k in both:
        if k in clean.clusters:
            groups.setdefault(f"cluster {clean.clusters[k]}", []).append(k)
    used = sum(one.kept.values())
    part = sum(one.kept.get(k, 0.0) for k in one.hostile) / used if used else None
    ordered = sorted(groups.items(), key=lambda item: (item[0] != EVERYBODY, item[0]))
    return [_group(one, clean, name, who, part) for name, who in ordered if who]


def _group(one: _Read, clean: _Read, name: str, who: Sequence[int], part: float | None) -> Damage:
    without, under = ([seen.personal[k] for k in who] for seen in (clean.seen, one.seen))
    pairs = zip(who, without, under, strict=True)
    lost = {one.names[k]: _worse(one.seen.measure, a, b) for k, a, b in pairs}
    means = fmean(without), fmean(under)
    return Damage(one.seen.name, one.seen.measure, name, len(who), *means, lost, part)


def _worse(measure: str, without: float, under: float) -> float:
    """What was lost, whichever way the measure counts."""
    return without - under if measure_named(measure).higher else under - without


def damage_sheet(seen: Sequence[ComparedRun]) -> Sheet:
    """The same as a table of text.

    Args:
        seen: The runs.

    Returns:
        A row a group of honest clients; no rows where nobody attacks.
    """
    columns = ["run", "group", "honest", "without attack", "with it", "lost", "most", "by"]
    rows = [
        [one.run, one.group, str(one.honest), *_numbers(one), _part(one)] for one in damages(seen)
    ]
    return Sheet(
        "What attackers cost honest clients, final personal test score",
        [*columns, "attackers' part"],
        rows,
        2,
        "most: the largest loss of a client, and whose; attackers' part: of what the rule used in "
        "the last round, – where the mean takes all alike",
    )


def _numbers(one: Damage) -> list[str]:
    worst = max(one.each, key=lambda name: one.each[name])
    lost = _worse(one.measure, one.without, one.under)
    values = (one.without, one.under, lost, one.each[worst])
    return [*(formatting.value(one.measure, value) for value in values), worst]


def _part(one: Damage) -> str:
    return formatting.NONE if one.attackers is None else formatting.percent_or_dash(one.attackers)


def plain(seen: Sequence[ComparedRun]) -> list[dict[str, Any]]:
    """The same as plain values.

    Args:
        seen: The runs.

    Returns:
        A dict for each ``Damage``; [] where nobody attacks.
    """
    return [{**one._asdict(), "each": dict(one.each)} for one in damages(seen)]
