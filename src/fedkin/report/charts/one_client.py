"""A client's own view: charts that are empty until a client is chosen."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fedkin.report import formatting
from fedkin.report.charts.base import (
    BLUE,
    ORANGE,
    OWN,
    ROWS,
    Figure,
    Own,
    colours,
    figure,
    measured_axis,
    rounded,
    whole_axis,
)
from fedkin.report.charts.clusters import cluster_names
from fedkin.report.collaboration import Collaboration
from fedkin.report.matrix import Matrix, carried
from fedkin.report.neighbours import nearest_clients
from fedkin.report.records import Run, evenly

STRIP = 60  # rounds
MOST_CLASSES = 200


def own_figures(
    run: Run,
    collaboration: Collaboration,
    distributions: Mapping[int, NDArray[np.float64]],
    labels: Sequence[str],
    scored: Matrix | None,
    curve: Own | None,
    what: str,
) -> list[Figure]:
    """What is there to show of a chosen client.

    Args:
        run: An open run.
        collaboration: All notes on who learns from whom.
        distributions: client → its label distribution [classes], of sum 1.
        labels: Names of the classes.
        scored: Personal scores of all clients; None: there are none.
        curve: The same as the page draws a chosen client's; None: there are none.
        what: The name of the measure.

    Returns:
        In the order of the page.
    """
    drawn = [
        _labels(run, distributions, labels)
        if 0 < len(labels) <= MOST_CLASSES and distributions
        else None
    ]
    if scored is not None and curve is not None:
        drawn.append(_score(scored, curve, what))
    drawn.append(_nearest(run, collaboration))
    if collaboration.clusters is not None:
        drawn.append(_clusters(run, collaboration.clusters))
    return [figure for figure in drawn if figure is not None]


def _labels(
    run: Run, distributions: Mapping[int, NDArray[np.float64]], labels: Sequence[str]
) -> Figure:
    mean = np.mean(list(distributions.values()), axis=0)
    rows = [{"label": labels[c], "share": round(float(v), 4)} for c, v in enumerate(mean)]
    x = alt.X("label:N", sort=list(labels), title="class")
    y = alt.Y("share:Q", title="share of the training data", axis=alt.Axis(format=".0%"))
    bars = alt.Chart(OWN).mark_bar(color=BLUE).encode(x=x, y=y)
    ticks = alt.Chart(ROWS).mark_tick(color="#000", thickness=2).encode(x=x, y=y)
    own = Own(
        ["label", "share"],
        {run.name(k): [round(float(v), 4) for v in values] for k, values in distributions.items()},
        [[labels[c]] for c in range(len(mean))],
    )
    note = "Bars: the client's label distribution. Lines across: the mean over all clients."
    return figure("own-data", "Its data", note, alt.layer(bars, ticks), rows, 200, own)


def _score(scored: Matrix, curve: Own, what: str) -> Figure:
    rows = [{"round": at, "value": rounded(mean)} for at, _, mean, _ in evenly(scored.bands(), 200)]
    x = alt.X("round:Q", title="round", axis=whole_axis(grid=False)).scale(nice=False)
    form = measured_axis(what)
    y = alt.Y("value:Q", title=f"test {formatting.label(what)}", axis=form).scale(zero=False)
    base = alt.Chart(ROWS).mark_line(color="#777", point=len(rows) == 1).encode(x=x, y=y)
    own = (
        alt.Chart(OWN).mark_line(color=BLUE, strokeWidth=2.5, point=len(rows) == 1).encode(x=x, y=y)
    )
    note = "Blue: the client's personal model. Grey: the mean over all clients."
    return figure(
        "own-score", f"Its {formatting.label(what)}", note, alt.layer(base, own), rows, 200, curve
    )


def _nearest(run: Run, collaboration: Collaboration) -> Figure | None:
    meaning, nearest = nearest_clients(run, collaboration)
    if not nearest:
        return None
    own = Own(
        ["neighbour", "closeness"],
        {
            run.name(k): [[run.name(j), round(v, 4)] for j, v in others]
            for k, others in nearest.items()
        },
    )
    chart = (
        alt.Chart(OWN)
        .mark_bar(color=ORANGE)
        .encode(
            y=alt.Y("neighbour:N", sort=None, title=None, axis=alt.Axis(labelLimit=160)),
            x=alt.X("closeness:Q", title=meaning, scale=alt.Scale(domain=[0, 1])),
            tooltip=["neighbour:N", "closeness:Q"],
        )
    )
    note = "The clients that it learns from, or together with, the most. Choose one to go there."
    return figure("own-neighbours", "Its neighbours", note, alt.layer(chart), [], 200, own)


def _clusters(run: Run, clusters: Matrix) -> Figure:
    keep = evenly(range(len(clusters.rounds)), STRIP)
    values = carried(clusters.values)[keep]
    own = Own(
        ["round", "cluster"],
        {
            run.name(k): [None if v != v else int(v) for v in values[:, j].tolist()]
            for j, k in enumerate(clusters.clients)
        },
        [[clusters.rounds[i]] for i in keep],
    )
    chart = (
        alt.Chart(OWN)
        .transform_filter("datum.cluster !== null")
        .mark_rect()
        .encode(
            x=alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0)),
            color=alt.Color("cluster:N", scale=colours(cluster_names(clusters)), title="cluster"),
            tooltip=["round:O", "cluster:N"],
        )
    )
    note = "The cluster it was in, round by round; where it was away, the last known one."
    return figure("own-clusters", "Its clusters", note, alt.layer(chart), [], 60, own)
