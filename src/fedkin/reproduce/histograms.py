"""PPFL's figure 11: how many clients' memberships are how far from their truth."""

from pathlib import Path

import altair as alt

from fedkin.report.charts.base import BLUE, ROWS, Figure, figure
from fedkin.report.summary import summary
from fedkin.reproduce.measures import recovery_errors

RECOVERY = "recovery"


def recovery_figure(folder: Path) -> Figure | None:
    """The histogram of Σ_k |α_ik − ĉ_ik| / 2 over clients after a run's last round; None where no
    truth is known.

    Args:
        folder: The run directory.

    Returns:
        A figure, or None.
    """
    errors = recovery_errors(folder, summary(folder))
    if errors is None:
        return None
    rows = [{"error": round(error, 4)} for error in errors.tolist()]
    x = alt.X("error:Q", bin=alt.Bin(step=0.05, extent=[0, 1]), title="Σ |α − ĉ| / 2")
    bars = (
        alt.Chart(ROWS)
        .mark_bar(color=BLUE)
        .encode(
            x=x,
            y=alt.Y("count():Q", title="clients"),
            tooltip=[x, alt.Tooltip("count():Q", title="clients")],
        )
    )
    note = (
        "Half the distance between a client's memberships and its true mixture, "
        f"{len(rows)} clients; 0 is exact."
    )
    return figure(RECOVERY, "How well memberships are recovered", note, alt.layer(bars), rows, 200)
