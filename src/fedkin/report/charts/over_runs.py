"""Lines of many runs, or of means over their seeds, each with its name at its end."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from fedkin.report import formatting
from fedkin.report.charts.base import (
    ROWS,
    Figure,
    cycled,
    dashes,
    ends_of_axis,
    figure,
    measured_axis,
    whole_axis,
)
from fedkin.report.charts.end_labels import (
    LINE,
    SPREAD,
    first_line,
    spread_positions,
    texts,
    wrapped,
)
from fedkin.report.comparison.run_row import FINISHED

AXES = {"round": "rounds", "seconds": "seconds since the start"}
MARGIN = 0.04  # of the axis, above and below the lines
Lines = Sequence[Mapping[str, Any]]


def over(lines: Lines, by: str, what: str, remarks: str = "") -> Figure:
    """A line a run or an experiment, with its name at its end. Runs that differ only in seed share
    a colour; eight colours serve more experiments with dashes.

    Args:
        lines: Rows with "run", "value", "like" (whose colour it has), "finish" (whether it is a
            client's work after the last round) and what the line is over; those of a mean over
            seeds with "low" and "high", the ends of its band.
        by: The column that the line is over: "round", "seconds" or "bytes".
        what: The name of the measure.
        remarks: Sentences of the note, each after a blank.

    Returns:
        A figure.
    """
    names = list(dict.fromkeys(row["run"] for row in lines))
    experiments = list(dict.fromkeys(row["like"] for row in lines))
    height = max(300, LINE * sum(wrapped(name).count("\n") + 1 for name in names) + 40)
    low, high = ends_of_axis(lines, MARGIN)
    x = alt.X(f"{by}:Q", title=by).scale(nice=False, zero=by == "seconds")
    x = x.axis(whole_axis(grid=False)) if by == "round" else x.axis(grid=False)
    banded = any("low" in row for row in lines)
    title = f"mean test {formatting.label(what)}{SPREAD if banded else ''}"
    scale = alt.Scale(domain=[low, high], nice=False)
    y, floor = (
        alt.Y(field, title=title, axis=measured_axis(what), scale=scale)
        for field in ("value:Q", "low:Q")
    )
    colour = alt.Color("like:N", scale=cycled(experiments), legend=None)
    drawn = alt.Chart(ROWS).transform_filter("!datum.end").encode(x=x, color=colour, detail="run:N")
    chart = drawn.mark_line(point=len(lines) <= 60).encode(
        y=y,
        strokeDash=alt.StrokeDash("like:N", scale=dashes(experiments), legend=None),
        opacity=alt.condition("datum.state === 'finished'", alt.value(1), alt.value(0.6)),
        tooltip=["run:N", "method:N", "state:N", "round:Q", "seconds:Q", "value:Q"],
    )
    band = drawn.transform_filter("isValid(datum.low)").mark_area(opacity=0.18, line=False)
    labels = alt.Chart(ROWS).transform_filter("datum.end").encode(x=x, y=y, color=colour)
    layers = [band.encode(y=floor, y2="high:Q")] if banded else []
    return figure(
        f"over-{by}",
        f"Test {formatting.label(what)} over {AXES[by]}",
        _note(lines, by, what) + remarks,
        alt.layer(*layers, chart, texts(labels)),
        [*lines, *_names(lines, by, height, (low, high))],
        height,
    )


def _note(lines: Lines, by: str, what: str) -> str:
    label = formatting.label(what)
    many = len({row["like"] for row in lines}) < len({row["run"] for row in lines})
    sentences = [f"Mean over clients of the test {label} of personal models."]
    seeds = sorted({row["seeds"] for row in lines if "low" in row})
    if seeds:
        count = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        sentences.append(
            f"Lines: means over {count} seeds; bands: ± their sample standard deviation."
        )
        if any("low" not in row for row in lines):
            sentences.append("A line without a band is of one run.")
    if any(row["state"] != FINISHED for row in lines):
        sentences.append("Fainter: not finished.")
    if any(row["finish"] for row in lines):
        sentences.append("The last point is the finish, each client's work after the last round.")
    if many:
        sentences.append("Runs that differ only in seed have one colour.")
    if by == "seconds":
        if seeds:
            sentences.append("The seconds of a round are means over seeds, too.")
        sentences.append("Seconds compare only where the runs had the machine to themselves.")
    return " ".join(sentences)


def _names(lines: Lines, by: str, height: int, ends: tuple[float, float]) -> list[dict[str, Any]]:
    """Where the names of the lines stand: beside their ends, none upon another."""
    last = {row["run"]: row for row in lines}
    shown = [
        wrapped(name if row["state"] == FINISHED else f"{name} (unfinished)")
        for name, row in last.items()
    ]
    low, scale = ends[0], height / (ends[1] - ends[0])
    places = spread_positions(
        [(row["value"] - low) * scale for row in last.values()], shown, height
    )
    right = max(row[by] for row in lines)
    return [
        {"end": True, **{key: row[key] for key in ("run", "like", "state")}}
        | {"text": text, by: right, "value": low + first_line(place, text) / scale}
        for row, text, place in zip(last.values(), shown, places, strict=True)
    ]
