"""All charts of who learns from whom, and of the data that they have."""

from collections.abc import Sequence

from fedkin.report.charts.base import Figure
from fedkin.report.charts.clusters import cluster_flow, cluster_map
from fedkin.report.charts.groups import groups_and_labels
from fedkin.report.charts.memberships import membership_figures
from fedkin.report.charts.rounds import over_time
from fedkin.report.charts.teachers import IMITATION, TEACHER, TEMPERATURE, teacher_figures
from fedkin.report.charts.weights import by_likeness, weight_map
from fedkin.report.collaboration import Collaboration, groups_of, shares
from fedkin.report.matrix import in_charts
from fedkin.report.records import Run

NUMBERS = 6  # of numbers over rounds, each: of the clients, of the federation


def collaboration_figures(
    run: Run, collaboration: Collaboration, labels: Sequence[str]
) -> list[Figure]:
    """The figures of everything that the method reported.

    Args:
        run: An open run.
        collaboration: All notes on who learns from whom.
        labels: Names of the classes.

    Returns:
        In the order of the page; [] where nothing was reported.
    """
    drawn: list[Figure | None] = []
    if collaboration.clusters is not None:
        drawn += [
            cluster_flow(run, collaboration.clusters),
            cluster_map(run, collaboration.clusters),
        ]
    if collaboration.memberships is not None:
        drawn += membership_figures(run, collaboration.memberships)
    distributions = shares(run.clients)
    groups = groups_of(collaboration)
    if groups is not None and distributions:
        drawn.append(groups_and_labels(run, groups, distributions, labels))
    order = by_likeness(list(run.clients), distributions) if collaboration.weights else []
    drawn += [weight_map(run, name, stack, order) for name, stack in collaboration.weights.items()]
    drawn += teacher_figures(run, collaboration.numbers)
    plain = {
        n: m for n, m in collaboration.numbers.items() if n not in (TEACHER, IMITATION, TEMPERATURE)
    }
    for numbers in (plain, collaboration.shared):
        drawn += [
            over_time(in_charts(matrix, run), name, run.name)
            for name, matrix in list(numbers.items())[:NUMBERS]
        ]
    return [figure for figure in drawn if figure is not None]
