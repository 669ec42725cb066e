"""Lines of many runs, each with its name at its end."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from fedkin.report import formatting
from fedkin.report.charts.base import (
    ROWS,
    Figure,
    cycled,
    dashes,
    figure,
    measured_axis,
    whole_axis,
)
from fedkin.report.comparison.run_row import FINISHED

LABEL, ROOM = 14, 110  # pixels: the height of a name, the width beside the lines
AXES = {"round": "rounds", "seconds": "seconds since the start"}


def over(lines: Sequence[Mapping[str, Any]], by: str, what: str) -> Figure:
    """A line a run, with its name at its end. Runs that differ only in seed share a colour; eight
    colours serve more experiments with dashes.

    Args:
        lines: Rows with "run", "value", "like" (the first run of the experiment), "finish" (whether
            it is a client's work after the last round) and what the line is over.
        by: The column that the line is over: "round", "seconds" or "bytes".
        what: The name of the measure.

    Returns:
        A figure.
    """
    names = list(dict.fromkeys(row["run"] for row in lines))
    experiments = list(dict.fromkeys(row["like"] for row in lines))
    height = max(300, LABEL * len(names) + 40)
    ends = _ends(lines, by, height)
    x = alt.X(f"{by}:Q", title=by).scale(nice=False, zero=by == "seconds")
    x = x.axis(whole_axis(grid=False)) if by == "round" else x.axis(grid=False)
    axis = measured_axis(what)
    y = alt.Y("value:Q", title=f"mean test {formatting.label(what)}", axis=axis)
    y = y.scale(zero=False, nice=False)
    colour = alt.Color("like:N", scale=cycled(experiments), legend=None)
    drawn = alt.Chart(ROWS).transform_filter("!datum.end").encode(x=x, color=colour, detail="run:N")
    chart = drawn.mark_line(point=len(lines) <= 60).encode(
        y=y,
        strokeDash=alt.StrokeDash("like:N", scale=dashes(experiments), legend=None),
        opacity=alt.condition("datum.state === 'finished'", alt.value(1), alt.value(0.6)),
        tooltip=["run:N", "method:N", "state:N", "round:Q", "seconds:Q", "value:Q"],
    )
    labels = alt.Chart(ROWS).transform_filter("datum.end").encode(x=x, y=y, color=colour)
    texts = labels.mark_text(align="left", dx=6, fontSize=11, limit=ROOM - 8).encode(text="text:N")
    note = (
        f"Mean over clients of the test {formatting.label(what)} of personal models. "
        "Fainter: not finished."
    )
    if any(row["finish"] for row in lines):
        note += " The last point is the finish, each client's work after the last round."
    if len(experiments) < len(names):
        note += " Runs that differ only in seed have one colour."
    if by == "seconds":
        note += " Seconds compare only where the runs had the machine to themselves."
    figure_of_runs = figure(
        f"over-{by}",
        f"Test {formatting.label(what)} over {AXES[by]}",
        note,
        alt.layer(chart, texts),
        [*lines, *ends],
        height,
    )
    figure_of_runs.spec["padding"] = {"left": 5, "top": 8, "right": ROOM, "bottom": 5}
    return figure_of_runs


def _ends(lines: Sequence[Mapping[str, Any]], by: str, height: int) -> list[dict[str, Any]]:
    """Where the names of the runs stand: at the ends of their lines, one below the other."""
    last = {row["run"]: row for row in lines}
    values = [row["value"] for row in lines]
    step = (max(values) - min(values) or 1.0) * LABEL / height
    right = max(row[by] for row in lines)
    ends: list[dict[str, Any]] = []
    for name in sorted(last, key=lambda name: last[name]["value"]):
        at = last[name]["value"]
        if ends:
            at = max(at, ends[-1]["value"] + step)
        state = "" if last[name]["state"] == FINISHED else " (unfinished)"
        texts = {"end": True, **{key: last[name][key] for key in ("run", "like", "state")}}
        ends.append({**texts, "text": f"{name}{state}", by: right, "value": at})
    return ends
