"""Which charts a report has, and what the page is given of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedkin.report.charts.base import Figure, Own
from fedkin.report.charts.by_client import by_client
from fedkin.report.charts.clients import class_labels, classes_by_client, histogram
from fedkin.report.charts.collaboration import collaboration_figures
from fedkin.report.charts.costs import by_kind, by_part
from fedkin.report.charts.many_clients import counted, quantiles
from fedkin.report.charts.one_client import own_figures
from fedkin.report.charts.rounds import against_bytes, lines, over_rounds
from fedkin.report.collaboration import groups_of, read_collaboration, shares
from fedkin.report.ledger import bytes_by_round
from fedkin.report.matrix import Matrix, among, distinct, in_charts
from fedkin.report.newcomers import by_labels
from fedkin.report.page.gain import Gain
from fedkin.report.panel import Panel
from fedkin.report.records import Run
from fedkin.report.scores import measures

MOST_ROWS = 20_000  # of charts by other measures: beyond, the page would be too large


class Drawn(NamedTuple):
    """``figures``: of the whole run. ``own``: of a client that is chosen, empty before."""

    figures: list[Figure]
    own: list[Figure]


def page_figures(
    run: Run,
    summary: Mapping[str, Any],
    what: str,
    matrices: dict[str, Matrix],
    gain: Gain | None,
    panel: Panel | None,
) -> Drawn:
    """All figures of a run.

    Args:
        run: An open run.
        summary: Its ``summary``.
        what: The run's measure.
        matrices: {view: scores}.
        gain: On a baseline, which is drawn beside; None: there is none.
        panel: The clients that are shown one by one, where not all are.

    Returns:
        The figures of the whole run, and those of a chosen client.
    """
    whole, scores = run, matrices
    if panel is not None:
        run, scores = run.narrowed(panel.clients), among(matrices, panel.clients)
    collaboration, clients = read_collaboration(run), list(run.clients.values())
    labels = class_labels(clients, [str(name) for name in run.facts.get("class_names") or []])
    scored = scores.get("personal")
    scored = None if scored is None else in_charts(scored, whole)
    curve = None if scored is None else lines(scored, run.name)
    drawn = _scores(whole, what, matrices, curve, gain, panel) if matrices else []
    drawn.append(by_labels(summary["unseen"]))
    of_clients = [
        classes_by_client(clients, labels, groups_of(collaboration)),
        *collaboration_figures(run, collaboration, labels),
    ]
    drawn += of_clients if panel is None else [_of_panel(figure, panel) for figure in of_clients]
    drawn += [by_kind(summary["communication"]), by_part(summary["seconds"])]
    own = own_figures(run, collaboration, shares(run.clients), labels, scored, curve, what)
    return Drawn([figure for figure in drawn if figure is not None], own)


def content_of(figures: Sequence[Figure]) -> dict[str, Any]:
    """What the page's script is given, by the element that holds it: {figures, owns}; a figure's
    ``own`` is a place in ``owns``, which is read when the first client is chosen.

    Args:
        figures: In the order of the page.

    Returns:
        Plain values.
    """
    owns: dict[int, Own] = {
        id(figure.own): figure.own for figure in figures if figure.own is not None
    }
    places = {key: place for place, key in enumerate(owns)}
    return {
        "figures": [{**figure._asdict(), "own": places.get(id(figure.own))} for figure in figures],
        "owns": [own._asdict() for own in owns.values()],
    }


def _scores(
    run: Run,
    what: str,
    matrices: dict[str, Matrix],
    curve: Own | None,
    gain: Gain | None,
    panel: Panel | None,
) -> list[Figure | None]:
    views = distinct(matrices)
    rounds = among(views, run.panel())
    at = {view: in_charts(matrix, run) for view, matrix in rounds.items()}
    scored = [
        over_rounds(at, what, run.ended(), curve),
        against_bytes(rounds, what, bytes_by_round(run)),
        *_of_clients(run, what, views, gain, panel),
    ]
    return scored if len(views) == len(matrices) else [_both_views(figure) for figure in scored]


def _of_clients(
    run: Run,
    what: str,
    views: dict[str, Matrix],
    gain: Gain | None,
    panel: Panel | None,
) -> list[Figure | None]:
    if panel is not None:
        dots = quantiles(views, what, run.clients, panel.clients, panel.said)
        return [dots, counted(views, what)]
    beside = {} if gain is None else {gain.name: gain.theirs}
    each = by_client(views, what, run.clients, beside)
    others = _by_other_measures(run, what, views)
    return [each._replace(others=others), histogram(views, what, run.clients)]


def _of_panel(figure: Figure | None, panel: Panel) -> Figure | None:
    """A figure that was drawn of the panel alone says so."""
    note = f"Of the panel alone ({panel.said})."
    return None if figure is None else figure._replace(note=f"{note} {figure.note}")


def _by_other_measures(
    run: Run, what: str, views: Mapping[str, Matrix]
) -> list[tuple[str, dict[str, Any]]]:
    """The chart of the clients by each other measure of the last round: (label, specification)."""
    lead, matrix = next(iter(views.items()))
    known = {view: measures(run, of.rounds[-1], view) for view, of in views.items()}
    names = [name for name in known[lead] if name not in ("se", "threshold", what)]
    if len(names) * len(views) * len(matrix.clients) > MOST_ROWS:
        return []
    charts = []
    for name in names:
        each = {view: _column(of, known[view].get(name, {})) for view, of in views.items()}
        each = {view: column for view, column in each.items() if column.row(-1)}
        if lead in each:
            drawn = by_client(each, name, run.clients)
            charts.append((drawn.label, drawn.spec))
    return charts


def _column(of: Matrix, values: Mapping[int, float | None]) -> Matrix:
    """One round of a measure."""
    row = [math.nan if (v := values.get(k)) is None else v for k in of.clients]
    return Matrix(of.rounds[-1:], of.clients, np.array([row], dtype=float))


def _both_views(figure: Figure | None) -> Figure | None:
    same = "Personal = global: both views have the same numbers and are drawn once."
    return None if figure is None else figure._replace(note=f"{figure.note} {same}")
