"""What a run costs: scalars by kind, seconds by part."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from fedkin.report.charts.base import BLUE, GREEN, ORANGE, ROWS, Figure, figure


def by_kind(communication: Mapping[str, Any]) -> Figure | None:
    """Scalars sent, by kind and direction; None where nothing is.

    Args:
        communication: Of the run's ``summary``.

    Returns:
        A figure, or None.
    """
    kinds = communication["unicast"]["by_kind"]
    rows = [
        {"kind": kind, "direction": direction, "scalars": parts[direction]}
        for kind, parts in kinds.items()
        if parts["total"]
        for direction in ("up", "down")
    ]
    if not rows:
        return None
    chart = (
        alt.Chart(ROWS)
        .mark_bar()
        .encode(
            y=alt.Y("kind:N", title=None, sort=None),
            x=alt.X(
                "scalars:Q", title="scalars, all rounds", axis=alt.Axis(format="~s", tickCount=5)
            ),
            color=alt.Color(
                "direction:N",
                scale=alt.Scale(domain=["up", "down"], range=[BLUE, ORANGE]),
                title=None,
            ),
            tooltip=["kind:N", "direction:N", alt.Tooltip("scalars:Q", format=",")],
        )
    )
    note = "Every message of the rounds counted (unicast)."
    height = 40 * len({row["kind"] for row in rows}) + 20
    return figure("kinds", "What was sent", note, alt.layer(chart), rows, height)


def by_part(seconds: Mapping[str, float | None]) -> Figure | None:
    """Where the time went; None where no time is recorded.

    Args:
        seconds: Of the run's ``summary``.

    Returns:
        A figure, or None.
    """
    parts = {part: seconds[part] or 0.0 for part in ("local", "server", "evaluation")}
    total = seconds["total"] or 0.0
    if total <= 0:
        return None
    parts["other"] = max(0.0, total - sum(parts.values()))
    rows = [{"part": part, "seconds": round(spent, 4)} for part, spent in parts.items()]
    chart = (
        alt.Chart(ROWS)
        .mark_bar(color=GREEN)
        .encode(
            y=alt.Y("part:N", title=None, sort=None),
            x=alt.X("seconds:Q", title="seconds, whole run", axis=alt.Axis(tickCount=5)),
            tooltip=["part:N", "seconds:Q"],
        )
    )
    note = (
        "Local: the clients' work and the messages. Server: merging. Evaluation: "
        "measuring all clients."
    )
    return figure("seconds", "Where the time went", note, alt.layer(chart), rows, 160)
