"""Methods of a leaderboard that are not fedkin's: who added one finds it at first sight."""

from collections.abc import Iterable, Sequence

import altair as alt

from fedkin.core.errors import some
from fedkin.methods import METHODS
from fedkin.report.charts.base import BLUE, WINE, Layers

SIGN = "▲"
SHOWN = 5  # names in a sentence
_NAMES = "user_methods"  # the parameter of a chart that holds them
_IS_OWN = f"indexof({_NAMES}, datum.method) >= 0"
_LABEL_IS_OWN = f"indexof({_NAMES}, datum.value) >= 0"


def user_methods(methods: Iterable[str]) -> list[str]:
    """Those that are not fedkin's.

    >>> user_methods(["fedavg", "my_methods:slower", "ditto", "my_methods:slower"])
    ['my_methods:slower']

    Args:
        methods: As rows name them.

    Returns:
        Each once, in their order.
    """
    return list(dict.fromkeys(name for name in methods if name not in METHODS))


def signed(method: str) -> str:
    """A name, with the sign before it where the method is not fedkin's.

    >>> signed("my_methods:slower"), signed("fedavg")
    ('▲ my_methods:slower', 'fedavg')

    Args:
        method: As rows name it.

    Returns:
        What a reader sees.
    """
    return method if method in METHODS else f"{SIGN} {method}"


def legend(own: Sequence[str]) -> str:
    """What the sign means; "" where all methods are fedkin's.

    >>> legend(["my_methods:slower"])
    "▲ marks my_methods:slower, which is not one of fedkin's methods."

    Args:
        own: Methods that are not fedkin's.

    Returns:
        A sentence, or "".
    """
    if not own:
        return ""
    if len(own) == 1:
        return f"{SIGN} marks {own[0]}, which is not one of fedkin's methods."
    return f"{SIGN} marks methods that are not fedkin's: {some(own, SHOWN)}."


def with_own(chart: Layers, own: Sequence[str]) -> Layers:
    """The chart, which knows them: the axes and marks below need it.

    Args:
        chart: Of rows with "method".
        own: Methods that are not fedkin's.

    Returns:
        The chart with a parameter more.
    """
    marked: Layers = chart.add_params(alt.param(name=_NAMES, value=list(own)))
    return marked


def axis_of_methods() -> alt.Axis:
    """An axis of names, where those that are not fedkin's have the sign and are bold.

    Returns:
        Altair's axis.
    """
    bold = {"condition": {"test": _LABEL_IS_OWN, "value": "bold"}, "value": "normal"}
    return alt.Axis(
        labelExpr=f"({_LABEL_IS_OWN} ? '{SIGN} ' : '') + datum.value",
        labelFontWeight=bold,
        labelLimit=240,
    )


def only_own(chart: alt.Chart, own: bool = True) -> alt.Chart:
    """The rows of methods that are not fedkin's, or of all others.

    Args:
        chart: Of rows with "method".
        own: False: all others.

    Returns:
        The chart with a filter more.
    """
    kept: alt.Chart = chart.transform_filter(_IS_OWN if own else f"!({_IS_OWN})")
    return kept


def coloured(others: str = BLUE) -> alt.Color:
    """A colour of their own.

    Args:
        others: The colour of fedkin's methods.

    Returns:
        A condition of altair.
    """
    own, rest = alt.value(WINE), alt.value(others)
    return alt.condition(_IS_OWN, own, rest)  # type: ignore[return-value]


def shaped() -> alt.Shape:
    """A triangle for them, a circle for fedkin's.

    Returns:
        A condition of altair.
    """
    own, rest = alt.value("triangle-up"), alt.value("circle")
    return alt.condition(_IS_OWN, own, rest)  # type: ignore[return-value]


def sign_of(own: Sequence[str]) -> str:
    """The end of a note: which methods have the sign.

    Args:
        own: As ``user_methods`` gives them.

    Returns:
        A sentence after a space; "" where there are none.
    """
    return f" {legend(own)}" if own else ""
