"""Clients that were held out of a run and joined it afterwards: scores by the number of labelled
samples.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedkin.report.formatting import label
from fedkin.report.records import Run
from fedkin.report.scores import spread

if TYPE_CHECKING:
    from fedkin.report.charts.base import Figure

SHOWN = ("accuracy", "rmse", "loss")  # the first of these that a run has


def unseen(run: Run) -> dict[str, Any] | None:
    """{clients, by_labels, each}: means over held-out clients, and every one's join; None where
    none was held out.

    Args:
        run: An open run.

    Returns:
        Plain values; losses are means per sample, accuracies fractions 0..1.
    """
    each: Sequence[Mapping[str, Any]] = run.facts.get("newcomers") or []
    if not each:
        return None
    asked = {one["asked"] for one in each}
    rising = sorted(labels for labels in asked if labels is not None)
    return {
        "clients": len({one["client"] for one in each}),
        "by_labels": [
            _by_labels([one for one in each if one["asked"] == labels], labels)
            for labels in (*rising, *([None] if None in asked else []))
        ],
        "each": list(each),
    }


def value_of(one: Mapping[str, Any], what: str) -> float | None:
    """A joined client's test "accuracy", "loss" or "rmse"; None where it has none.

    Args:
        one: What came of a client's join.
        what: "accuracy", "loss" or "rmse".

    Returns:
        In the measure's own unit.
    """
    test: Mapping[str, float | None] = one["scores"]["personal"]["test"]
    of = one.get("measures", {}).get("personal", {}).get("test", {})
    return test[what] if what in test else of.get(what)


def newcomers_measure(unseen: Mapping[str, Any]) -> str:
    """What the numbers of ``unseen`` are shown as: "accuracy", or of regression "rmse" (of older
    runs "loss").

    Args:
        unseen: What ``unseen`` gave.

    Returns:
        One of SHOWN.
    """
    return next(
        (what for what in SHOWN if any(one[what]["clients"] for one in unseen["by_labels"])), "loss"
    )


def _by_labels(joins: Sequence[Mapping[str, Any]], asked: int | None) -> dict[str, Any]:
    weights = {k: one["test"] for k, one in enumerate(joins)}
    spreads = {
        what: spread({k: value_of(one, what) for k, one in enumerate(joins)}, weights, worst=worst)
        for what, worst in (("accuracy", "low"), ("loss", "high"), ("rmse", "high"))
    }
    labels = sum(one["train"] + one["val"] for one in joins) / len(joins)
    return {"asked": asked, "labels": labels, **spreads}  # asked None: all that a client has


def by_labels(unseen: Mapping[str, Any] | None) -> "Figure | None":
    """Test accuracy (RMSE, for regression) of held-out clients against their labelled samples.

    Args:
        unseen: What ``unseen`` gave.

    Returns:
        None where nobody was held out, or has a score.
    """
    if unseen is None:
        return None
    what = newcomers_measure(unseen)
    name = label(what)
    rows = [
        {
            "client": one["client"],
            "labels": one["train"] + one["val"],
            "value": value,
            "rounds": one["rounds"],
        }
        for one in unseen["each"]
        if (value := value_of(one, what)) is not None
    ]
    if not rows:
        return None
    import altair as alt  # late: a run in numbers draws nothing

    from fedkin.report.charts.base import BLUE, ROWS, figure

    x = alt.X(
        "labels:Q",
        title="labelled samples (train and validation)",
        scale=alt.Scale(type="log", nice=False),
    )
    axis = alt.Axis(format="%") if what == "accuracy" else alt.Axis()
    y = alt.Y("value:Q", title=f"test {name}", scale=alt.Scale(zero=False), axis=axis)
    lines = alt.Chart(ROWS).mark_line(opacity=0.35, color=BLUE).encode(x=x, y=y, detail="client:N")
    tips = ["client:N", "labels:Q", alt.Tooltip("value:Q", format=".4~g", title=name), "rounds:Q"]
    points = (
        alt.Chart(ROWS).mark_circle(size=45, color=BLUE, opacity=0.8).encode(x=x, y=y, tooltip=tips)
    )
    note = (
        "A line a client that never trained in this run: it joined afterwards, alone, "
        "with few labels and with all."
    )
    return figure(
        "unseen",
        f"Unseen clients: {name} against labelled samples",
        note,
        alt.layer(lines, points),
        rows,
        260,
    )
