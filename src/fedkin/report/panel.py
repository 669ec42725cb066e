"""Of a run of many clients a page shows a panel: the worst, the best, and some at random."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fedkin.report.formatting import LARGE
from fedkin.report.matrix import Matrix
from fedkin.report.records import Run

EACH = 100  # of the worst, of the best, at random


class Panel(NamedTuple):
    """``clients`` in order of their numbers; ``said``: who they are."""

    clients: tuple[int, ...]
    said: str


def panel_of(run: Run, matrices: Mapping[str, Matrix]) -> Panel | None:
    """The panel of a run, by the final scores of its first view; None where all clients are shown.

    The random ones are the same in every page of a run, and drawn from those between.

    Args:
        run: An open run.
        matrices: {view: its scores}.

    Returns:
        At most 3 × EACH clients, and who they are.
    """
    if len(run.clients) <= LARGE:
        return None
    final = next(iter(matrices.values())).row(-1) if matrices else {}
    known = {k: v for k, v in final.items() if k in run.clients and math.isfinite(v)}
    order = sorted(known, key=lambda k: (known[k], k))  # whichever end is the worst: both are shown
    few = order[:EACH] + order[max(EACH, len(order) - EACH) :]
    others = sorted(set(run.clients) - set(few))
    drawn = np.random.default_rng(0).choice(others, EACH, replace=False).tolist()
    ends = f"the {EACH} worst, the {EACH} best and " if len(few) == 2 * EACH else ""
    clients = tuple(sorted({*few, *drawn}))
    words = f"{len(clients)} of {len(run.clients):,} clients: {ends}{len(drawn)} at random"
    return Panel(clients, words)
