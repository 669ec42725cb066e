"""Names beside lines and points: whole, and none upon another."""

from collections.abc import Sequence
from itertools import accumulate

import altair as alt

LINE, WIDE = 13, 26  # pixels of a line of text; letters in one
SIZE = 11  # of letters, in pixels
SPREAD = " ± sd over seeds"  # beside the title of an axis: a figure in a paper has no other words
# of a name on a narrow screen; in a file there is no window
LIMIT = alt.expr("max(110, 0.4 * (windowSize()[0] || 640))")


def wrapped(name: str) -> str:
    """A name in lines: broken after commas, where it is long.

    >>> wrapped("ditto, lam = 0.05, rounds = 100")
    'ditto, lam = 0.05,\\nrounds = 100'

    Args:
        name: Of a run, or of a method with its setting.

    Returns:
        The name, with line breaks.
    """
    lines = [""]
    for part in name.split(", "):
        longer = f"{lines[-1]}, {part}" if lines[-1] else part
        if lines[-1] and len(longer) > WIDE:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def spread_positions(wanted: Sequence[float], names: Sequence[str], height: float) -> list[float]:
    """Where names stand beside their lines: as near as can be, none upon another.

    Args:
        wanted: Where each line ends, in pixels above the lower end of the chart.
        names: As ``wrapped`` gives them.
        height: Of the chart, in pixels.

    Returns:
        The middle of each name, in pixels above the lower end.
    """
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    rooms = [LINE * (names[k].count("\n") + 1) for k in order]
    starts = list(accumulate(rooms, initial=0))
    # where the lowest name would begin if this one stood where it wants to
    begins = [wanted[k] - starts[n] - rooms[n] / 2 for n, k in enumerate(order)]
    blocks: list[tuple[float, int]] = []  # (mean, how many): of neighbours that touch
    for begin in begins:
        mean, many = begin, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, many = (before * count + mean * many) / (count + many), count + many
        blocks.append((mean, many))
    spaced = [mean for mean, many in blocks for _ in range(many)]
    most = max(height - starts[-1], 0.0)
    found = dict(zip(order, enumerate(spaced), strict=True))
    return [
        min(max(at, 0.0), most) + starts[n] + rooms[n] / 2
        for n, at in (found[k] for k in range(len(wanted)))
    ]


def first_line(middle: float, name: str) -> float:
    """Where the first line of a name is drawn, the others being below it.

    Args:
        middle: Of the name, in pixels above the lower end.
        name: As ``wrapped`` gives it.

    Returns:
        Pixels above the lower end.
    """
    return middle + LINE * name.count("\n") / 2


def texts(base: alt.Chart, dx: int = 6) -> alt.Chart:
    """The names, from rows with "text".

    Args:
        base: A chart with both axes.
        dx: Pixels to the right.

    Returns:
        The chart of text.
    """
    marks = base.mark_text(
        align="left",
        baseline="middle",
        dx=dx,
        fontSize=SIZE,
        lineBreak="\n",
        lineHeight=LINE - 1,
        limit=LIMIT,
    )
    chart: alt.Chart = marks.encode(text="text:N")
    return chart
