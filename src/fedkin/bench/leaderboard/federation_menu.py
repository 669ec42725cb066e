"""Below a chart: the menu of federations, and the rows of the one that is chosen."""

from collections.abc import Sequence

import altair as alt

from fedkin.report.charts.base import ROWS


def menu(of: str, names: Sequence[str]) -> alt.Parameter:
    """The chosen federation; the first one before anybody chooses.

    Args:
        of: What the choice is called in the chart.
        names: Of the federations.

    Returns:
        A parameter of the chart.
    """
    chosen: alt.Parameter = alt.param(
        name=of, value=names[0], bind=alt.binding_select(options=list(names), name="federation: ")
    )
    return chosen


def of_federation(of: str) -> alt.Chart:
    """The rows of the federation that is chosen.

    Args:
        of: What the choice is called in the chart.

    Returns:
        A chart of them, without marks.
    """
    chart: alt.Chart = alt.Chart(ROWS).transform_filter(f"datum.federation == {of}")
    return chart
