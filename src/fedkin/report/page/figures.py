"""Which charts a report has, and what the page is given of them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedkin.report.charts.base import Figure, Own
from fedkin.report.charts.clients import by_client, class_labels, histogram, who_has_what
from fedkin.report.charts.collaboration import lens_figures
from fedkin.report.charts.costs import by_kind, by_part
from fedkin.report.charts.one_client import own_figures
from fedkin.report.charts.rounds import against_bytes, lines, over_rounds
from fedkin.report.collaboration import groups_of, read_told, shares
from fedkin.report.ledger import bytes_by_round
from fedkin.report.matrix import Matrix, among, distinct
from fedkin.report.newcomers import by_labels
from fedkin.report.records import Run


class Drawn(NamedTuple):
    """``figures``: of the whole run. ``own``: of a client that is chosen, empty before."""

    figures: list[Figure]
    own: list[Figure]


def page_figures(
    run: Run, found: Mapping[str, Any], what: str, matrices: dict[str, Matrix]
) -> Drawn:
    """All figures of a run. ``found``: its ``summary``; ``what``, ``matrices``: ``measured``."""
    told, clients = read_told(run), list(run.clients.values())
    labels = class_labels(clients, [str(name) for name in run.facts.get("class_names") or []])
    scored = matrices.get("personal")
    curve = None if scored is None else lines(scored, run.name)
    drawn = _scores(run, what, matrices, curve) if matrices else []
    drawn.append(by_labels(found["unseen"]))
    drawn.append(who_has_what(clients, labels, groups_of(told)))
    drawn += lens_figures(run, told, labels)
    drawn += [by_kind(found["communication"]), by_part(found["seconds"])]
    own = own_figures(run, told, shares(run.clients), labels, scored, curve, what)
    return Drawn([figure for figure in drawn if figure is not None], own)


def content_of(figures: Sequence[Figure]) -> dict[str, Any]:
    """What the page's script is given, by the element that holds it: {figures, owns}; a figure's
    ``own`` is a place in ``owns``, which is read when the first client is chosen.
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
    run: Run, what: str, matrices: dict[str, Matrix], curve: Own | None
) -> list[Figure | None]:
    views = distinct(matrices)
    rounds = among(views, run.panel())
    scored = [
        over_rounds(rounds, what, run.planned(), curve),
        against_bytes(rounds, what, bytes_by_round(run)),
        by_client(views, what, run.clients),
        histogram(views, what, run.clients),
    ]
    return scored if len(views) == len(matrices) else [_both_views(figure) for figure in scored]


def _both_views(figure: Figure | None) -> Figure | None:
    same = "Personal = global: both views have the same numbers and are drawn once."
    return None if figure is None else figure._replace(note=f"{figure.note} {same}")
