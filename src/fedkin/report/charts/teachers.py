"""PersFL's choices: each client's teacher round, and the imitation λ and temperature T of its
distillation.
"""

from collections.abc import Mapping

import altair as alt
import numpy as np

from fedkin.report.charts.base import (
    BLUE,
    CHOSEN,
    ORANGE,
    OWN,
    ROWS,
    Figure,
    Own,
    faded,
    figure,
    whole_axis,
)
from fedkin.report.charts.memberships import spread
from fedkin.report.matrix import Matrix, carried
from fedkin.report.records import Run

TEACHER, IMITATION, TEMPERATURE = "teacher_round", "imitation", "temperature"  # the notes' names
BARS = 60


def teacher_figures(run: Run, numbers: Mapping[str, Matrix]) -> list[Figure]:
    """Those for which there are notes.

    Args:
        run: An open run.
        numbers: {note: its number of every client}.

    Returns:
        A figure, two or [].
    """
    figures = []
    if TEACHER in numbers:
        figures.append(_rounds(run, numbers[TEACHER]))
    if IMITATION in numbers and TEMPERATURE in numbers:
        figures.append(_distilled(run, _last(numbers[IMITATION]), _last(numbers[TEMPERATURE])))
    return figures


def _last(matrix: Matrix) -> dict[int, float]:
    last = carried(matrix.values)[-1]
    return {k: float(v) for k, v in zip(matrix.clients, last, strict=True) if np.isfinite(v)}


def _rounds(run: Run, matrix: Matrix) -> Figure:
    last = _last(matrix)
    rows = [{"client": run.name(k), "teacher": int(at)} for k, at in last.items()]
    base = alt.Chart(ROWS)
    most = max(last.values())
    bins = alt.Bin(maxbins=BARS, minstep=1, extent=[0, most + 1])
    x = alt.X("teacher:Q", title="round of the teacher", bin=bins, axis=whole_axis())
    bars = base.mark_bar(color=BLUE).encode(
        x=x,
        y=alt.Y("count():Q", title="clients", axis=whole_axis()),
        tooltip=[x, alt.Tooltip("count():Q", title="clients")],
    )
    own = base.transform_filter(f"datum.client === {CHOSEN}").mark_rule(color=ORANGE, size=3)
    own = own.transform_calculate(middle="datum.teacher + 0.5").encode(x="middle:Q")
    note = (
        "The round whose global model each client keeps as its teacher: the one with the "
        "least loss on its own "
    )
    note += "validation data. A chosen client is the orange line."
    return figure("teachers", "Which round is whose teacher", note, alt.layer(bars, own), rows, 200)


def _distilled(
    run: Run, imitation: Mapping[int, float], temperature: Mapping[int, float]
) -> Figure:
    clients = [k for k in imitation if k in temperature]
    exact = np.array([[temperature[k], imitation[k]] for k in clients])
    wide = np.maximum(exact.max(0) - exact.min(0), [1.0, 0.05])
    places = spread(exact / wide) * wide  # spread where all choose the same
    names = [run.name(k) for k in clients]
    rows = [
        {"client": name, "T": round(x, 3), "lam": round(y, 4), "temperature": t, "imitation": lam}
        for name, (x, y), (t, lam) in zip(names, places.tolist(), exact.tolist(), strict=True)
    ]
    x = alt.X("T:Q", title="temperature T", scale=alt.Scale(padding=20, zero=False))
    y = alt.Y("lam:Q", title="imitation λ", scale=alt.Scale(padding=20, zero=False))
    dots = alt.Chart(ROWS).mark_circle(size=60, color=BLUE).encode(
        x=x, y=y, opacity=faded(0.7), tooltip=["client:N", "temperature:Q", "imitation:Q"]
    )  # fmt: skip
    ring = (
        alt.Chart(OWN).mark_point(color="#000", size=180, strokeWidth=2).encode(x="T:Q", y="lam:Q")
    )
    own = Own(["T", "lam"], {row["client"]: [[row["T"], row["lam"]]] for row in rows})
    note = (
        "Each client's choice, by its validation data; clients with the same are spread "
        "around it. At λ = 0 nothing "
    )
    note += "is distilled: the client fine-tunes its teacher. A chosen client has a ring."
    title = "How each client distils: λ and T"
    return figure("distillation", title, note, alt.layer(dots, ring), rows, 300, own)
