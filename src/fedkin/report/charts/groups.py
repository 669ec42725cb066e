"""What the groups that a method found have in common: their members' labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fedkin.core.errors import many
from fedkin.report.charts.base import OWN, ROWS, Figure, Layers, Own, figure
from fedkin.report.collaboration import Groups, explained
from fedkin.report.formatting import percent_or_dash
from fedkin.report.records import Run

GROUPS = 40  # more are not drawn: the largest are


def groups_and_labels(
    run: Run,
    groups: Groups,
    distributions: Mapping[int, NDArray[np.float64]],
    labels: Sequence[str],
) -> Figure | None:
    """Group × class: the mean share of the class in the members' training data; None where labels
    are not known.

    Args:
        run: An open run.
        groups: Of the clients.
        distributions: client → its label distribution [classes], of sum 1.
        labels: Names of the classes.

    Returns:
        A figure, or None.
    """
    members = {
        name: [k for k in groups.members(name) if k in distributions] for name in groups.names
    }
    largest = sorted(
        (name for name in members if members[name]), key=lambda name: (-len(members[name]), name)
    )
    shown = [name for name in groups.names if name in set(largest[:GROUPS])]
    if not shown:
        return None
    heads = {name: f"{groups.kind} {name} ({many(len(members[name]), 'client')})" for name in shown}
    rows = [
        {"group": heads[name], "label": labels[c], "share": round(float(share), 4)}
        for name in shown
        for c, share in enumerate(np.mean([distributions[k] for k in members[name]], axis=0))
    ]
    own = Own(
        ["group", "label"],
        {
            run.name(k): [[heads[str(number)], labels[int(distributions[k].argmax())]]]
            for k, number in groups.of.items()
            if k in distributions and str(number) in heads
        },
    )
    note = f"The mean label distribution of the members of each {groups.kind} at the end."
    part = explained(groups, distributions)
    if part is not None:
        note += (
            f" {percent_or_dash(part)} of the differences between the clients' label "
            "distributions lie between the "
        )
        note += f"{groups.kind}s (100 %: the members of each are alike)."
    if len(shown) < len(members):
        note += f" The {len(shown)} largest of {len(members)} are shown."
    note += " A chosen client is a ring at its group and its largest class."
    height = max(80, 26 * len(shown))
    title = "Which data the groups have"
    return figure(
        "groups",
        title,
        note,
        _label_chart(labels, [heads[name] for name in shown]),
        rows,
        height,
        own,
    )


def _label_chart(labels: Sequence[str], heads: list[str]) -> Layers:
    """Group × class as a heat map, with a ring for a chosen client."""
    x = alt.X(
        "label:N",
        sort=list(labels),
        title="class",
        axis=alt.Axis(labelAngle=-60 if len(labels) > 12 else 0),
    )
    y = alt.Y("group:N", sort=heads, title=None, axis=alt.Axis(labelLimit=190))
    tips: list[Any] = [
        "group:N",
        "label:N",
        alt.Tooltip("share:Q", format=".1%", title="of the members' data"),
    ]
    base = alt.Chart(ROWS).encode(x=x, y=y, tooltip=tips)
    colour = alt.Color(
        "share:Q", scale=alt.Scale(scheme="blues", domainMin=0), legend=alt.Legend(format=".0%")
    )
    cells = base.mark_rect().encode(color=colour.title("share"))
    ring = alt.Chart(OWN).mark_point(color="#000", strokeWidth=2.5, size=90).encode(x=x, y=y)
    return alt.layer(cells, ring)
