"""Runs beside each other: over rounds and seconds, against bytes, client against client, and how
equal clients are.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import Any

import altair as alt
import numpy as np

from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.charts.base import (
    GREEN,
    ROWS,
    TICKS,
    Figure,
    figure,
    measured_axis,
    rounded,
)
from fedkin.report.charts.over_runs import over
from fedkin.report.charts.over_seeds import MEANS, RUNS, experiments, mean_rows, spread
from fedkin.report.charts.pareto import pareto
from fedkin.report.charts.two_runs import against_figure
from fedkin.report.comparison.run_row import ComparedRun
from fedkin.report.matrix import among, measured
from fedkin.report.records import evenly, opened
from fedkin.report.scores import tenth
from fedkin.report.summary import of_run

POINTS = 200  # rounds of a line
Row = dict[str, Any]


def run_figures(seen: Sequence[ComparedRun], baseline: str) -> list[Figure]:
    """The charts of a comparison: of means over seeds where an experiment has several, with the
    single runs as a second choice, else of the runs.

    Damaged runs are in none, unfinished ones only in the lines, paler.

    Args:
        seen: The runs.
        baseline: The method or the name of the run that others are held against.

    Returns:
        In the order of the page.
    """
    whole = [one for one in seen if one.finished and one.personal]
    lines = _lines(seen)
    drawn: list[Figure | None] = []
    if lines:
        what = next((one.measure for one in seen if one.measure), lines[0]["measure"])
        lines = _idle_finish_last([row for row in lines if row["measure"] == what])
        compared = [one for one in whole if one.measure == what]
        drawn += [figure for figure in _of_runs(lines, compared, what) if figure is not None]
        groups = experiments([one for one in seen if one.measure == what])
        if any(len(group) > 1 for group in groups.values()):
            means = {one.name: one for one in _of_means(lines, groups, what) if one is not None}
            drawn = [_both(means.get(one.name), one) for one in drawn if one is not None]
    drawn.append(against_figure(whole, baseline))
    return [figure for figure in drawn if figure is not None]


def _both(means: Figure | None, runs: Figure) -> Figure:
    """The figure of means, from which one comes to the runs."""
    if means is None:
        return runs
    return means._replace(choice="Show", label=MEANS, others=[(RUNS, runs.spec)])


def _of_runs(lines: Sequence[Row], whole: Sequence[ComparedRun], what: str) -> list[Figure | None]:
    first = _first_of_each(whole)
    points = [
        {"run": one.name, "like": first[one.experiment], "method": one.row["method"]}
        | {"cost": one.row["unicast bytes"], "value": _mean(list(one.personal.values()))}
        for one in whole
    ]
    fair = [{"run": one.name, **_fairness(one, what)} for one in whole]
    thin = _thinned(lines)
    return [
        over(thin, "round", what),
        over(thin, "seconds", what),
        pareto(points, what),
        _fair(fair, what),
    ]


def _of_means(
    lines: Sequence[Row], groups: Mapping[str, Sequence[ComparedRun]], what: str
) -> list[Figure | None]:
    means, note = mean_rows(lines, groups)
    thin = _thinned(means)
    scored = {name: [one for one in group if one.personal] for name, group in groups.items()}
    scored = {name: group for name, group in scored.items() if group}
    points = [
        {"run": name, "like": name, "method": group[0].row["method"]}
        | {"cost": fmean(one.row["unicast bytes"] for one in group)}
        | spread([_mean(list(one.personal.values())) for one in group])
        for name, group in scored.items()
    ]
    fair = []
    for name, group in scored.items():
        each = [_fairness(one, what) for one in group]
        means_of = {key: rounded(fmean(row[key] for row in each)) for key in each[0]}
        fair.append({"run": name, **means_of})
    return [
        over(thin, "round", what, note),
        over(thin, "seconds", what, note),
        pareto(points, what),
        _fair(fair, what, "Means over seeds. "),
    ]


def _lines(seen: Sequence[ComparedRun]) -> list[Row]:
    first = _first_of_each(seen)
    return [row for one in seen for row in _curve(one, first[one.experiment])]


def _first_of_each(seen: Sequence[ComparedRun]) -> dict[str, str]:
    """{experiment: the name of its first run}."""
    first: dict[str, str] = {}
    for one in seen:
        first.setdefault(one.experiment, one.name)
    return first


def _thinned(rows: Sequence[Row]) -> list[Row]:
    """Of each line at most POINTS."""
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(row)
    return [row for line in by_run.values() for row in evenly(line, POINTS)]


def _curve(one: ComparedRun, like: str) -> list[Row]:
    """A run's mean over clients, round by round, with the seconds until then; of a panel's run over
    the panel, whose rounds can be compared. ``like`` is the first run of its experiment.
    """
    if one.folder is None:
        return []
    with opened(one.folder) as run:
        what, matrices = measured(run, {**of_run(run), "measure": one.measure})
        matrices = among(matrices, run.panel())
        matrix = matrices.get("personal") or next(iter(matrices.values()), None)
        times = [at for (at,) in run.rows("SELECT round FROM rounds ORDER BY round")]
        spent = accumulate(parts.get("total", 0.0) for _, parts in run.seconds())
        until = dict(zip(times, spent, strict=True))
        last = run.ended()
    if matrix is None:
        return []
    fields = {"run": one.name, "like": like, "method": one.row["method"], "measure": what}
    fields["state"] = "finished" if one.finished else "unfinished"
    bands = list(matrix.bands())
    before = rounded(bands[-2][2]) if len(bands) > 1 else None  # of the last but one
    return [
        {
            **fields,
            "finish": last is not None and at > last,
            "before": before,
            "round": at if last is None else min(at, last + 1),  # the finish has a later number
            "seconds": round(until.get(at, 0.0), 3),
            "value": rounded(mean),
        }
        for at, _, mean, _ in bands
    ]


def _idle_finish_last(lines: list[Row]) -> list[Row]:
    """With the finish at the last round where it changes no run's mean: ten rounds end at 10."""
    if any(row["finish"] and row["value"] != row["before"] for row in lines):
        return lines
    return [{**row, "round": row["round"] - row["finish"], "finish": False} for row in lines]


def _fairness(one: ComparedRun, what: str) -> dict[str, float]:
    """From the worst tenth of a run's clients to the best."""
    values = np.sort(list(one.personal.values()))[:: measure_named(what).sign]
    decile = tenth(len(values))
    return {
        "worst": _mean(values[:decile]),
        "mean": _mean(values),
        "best": _mean(values[-decile:]),
        "std": rounded(float(values.std())),
    }


def _fair(rows: list[Row], what: str, remark: str = "") -> Figure | None:
    """From the worst tenth of the clients to the best, a run or an experiment a row."""
    if not rows:
        return None
    rows.sort(key=lambda row: -measure_named(what).sign * row["worst"])
    x = alt.X(
        "worst:Q",
        title=f"test {formatting.label(what)} of clients",
        scale=alt.Scale(zero=False),
        axis=measured_axis(what, tickCount=TICKS),
    )
    y = alt.Y("run:N", sort=[row["run"] for row in rows], title=None, axis=alt.Axis(labelLimit=260))
    base = alt.Chart(ROWS).encode(y=y, tooltip=["run:N", "worst:Q", "mean:Q", "best:Q", "std:Q"])
    bars = base.mark_bar(height=8, opacity=0.45, color=GREEN).encode(x=x, x2="best:Q")
    means = base.mark_tick(thickness=3, color="#000").encode(x="mean:Q")
    note = (
        f"{remark}Bars: from the mean of the worst tenth of the clients to that of the best tenth. "
        "Lines across: the mean. "
    )
    note += "The shorter the bar, the more equal the clients; ordered by the worst tenth."
    return figure(
        "fairness",
        "How equal the clients are",
        note,
        alt.layer(bars, means),
        rows,
        max(80, 26 * len(rows)),
    )


def _mean(values: Any) -> float:
    return rounded(float(np.mean(values)))
