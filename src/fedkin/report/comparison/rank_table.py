"""Experiments in the order of their scores, with ties."""

from collections.abc import Sequence
from statistics import fmean

from fedkin.core.errors import some
from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.comparison.compare import Comparison
from fedkin.report.comparison.persons import by_person
from fedkin.report.comparison.run_row import Seen, by_experiment, labels
from fedkin.report.comparison.sheet import TIES, Sheet
from fedkin.report.intervals import over_clients, over_seeds, ranks


def rank_table(found: Comparison) -> Sheet:
    """Experiments on the same client data from the best to the worst; those that cannot be
    distinguished share a rank, and stand in it in the order of their means.
    """
    groups = [
        group
        for group in by_experiment(found.seen)
        if group[0].personal and group[0].measure == found.measure
    ]
    lead = next(iter(groups), None)
    if lead is None or len(groups) < 2:
        return Sheet("", [], [], 0)
    label_of = dict(zip((id(group) for group in groups), labels(groups), strict=True))
    groups = [group for group in groups if group[0].same_data(lead[0])]
    settings = [label_of[id(group)] for group in groups]
    groups, note = _common(groups)
    each = [by_person((one, one.personal) for one in group) for group in groups]
    higher = measure_named(found.measure).higher
    places = ranks(each, higher)
    scores = [sum(one.values()) / len(one) * (-1 if higher else 1) for one in each]
    rows = []
    for k in sorted(range(len(groups)), key=lambda k: (places[k][0], scores[k])):
        means = [fmean(one.personal.values()) for one in groups[k] if one.personal]
        clients = over_clients(dict(enumerate(each[k].values())), found.measure)
        seeds = over_seeds(means)
        numbers = [formatting.value(found.measure, sum(means) / len(means))]
        numbers += [formatting.interval(found.measure, ends) for ends in (clients, seeds)]
        method = groups[k][0].row["method"]
        rows.append([formatting.rank(*places[k]), method, settings[k], *numbers])
    title = f"Ranks by final personal test {formatting.label(found.measure)}"
    columns = ["rank", "method", "setting", "mean", "95% over clients", "95% over seeds"]
    return Sheet(title, columns, rows if len(rows) > 1 else [], 3, f"{TIES}{note}")


def _common(groups: Sequence[list[Seen]]) -> tuple[list[list[Seen]], str]:
    """(the runs of the seeds that all groups have, a note where some have others too).

    An experiment under a lucky seed would lead one that it loses to under every seed of both.
    """
    seeds = [{one.row["seed"] for one in group if one.personal} for group in groups]
    common = set.intersection(*seeds)
    if all(mine == common for mine in seeds):
        return list(groups), ""
    if not common:
        return list(groups), "; no seed is everybody's: each mean is of its own seeds"
    kept = [[one for one in group if one.row["seed"] in common] for group in groups]
    shown = some([str(seed) for seed in sorted(common, key=str)], 5)
    return kept, f"; of {'seed' if len(common) == 1 else 'seeds'} {shown} alone, which all have"
