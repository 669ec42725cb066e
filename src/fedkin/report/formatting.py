"""Numbers and names as people read them; the same in the terminal and on the page. The sentences
about a run are in ``report.words``.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fedkin.core.errors import cut, percent
from fedkin.core.errors import many as many
from fedkin.core.measures import ASIDE, measure_named

LARGE = (
    5000  # clients, above which a page shows a panel, and intervals are the normal distribution's
)
FOR_BOOTSTRAP = 30  # values, below which an interval of their mean is Student's t
WAYS = (
    f"Student's t below {FOR_BOOTSTRAP} values, bootstrap to {LARGE:,}, normal distribution above"
)

LONGEST = 1000  # letters of a note in a cell: a stranger's may have a million

NONE = "–"
PICKS = {
    "final": "final",
    "best_by_validation": "best by validation",
    "best_on_test": "best on test",
}
PRINTED = (
    "“Best on test” chooses the round on the test data: it is what most papers print, "
    "and it flatters."
)
SPREADS = {"mean": "mean", "weighted": "weighted", "std": "std", "worst_decile": "worst decile"}
BASELINES = {
    "constant": "most frequent class, or mean, of each client",
    "linear": "own linear model of each client",
}
THRESHOLDS = (
    "Sensitivity and specificity are at a threshold that each client's validation samples chose: "
    "0.5 where they are not of both classes."
)

SMALL, ROUNDING = 1e-3, 1e-12  # below the first digits are counted, below the second none is sure


def percent_or_dash(value: float | None) -> str:
    """0.7346 → 73.46 %.

    Args:
        value: A fraction; None or nan: unknown.

    Returns:
        With two decimals; a dash for what is unknown.
    """
    return NONE if value is None or math.isnan(value) else percent(value, 2)


def decimal(value: float | None, digits: int = 4) -> str:
    """1.23456 → 1.2346; 0.000012345 → 1.234e-05, for errors in small units are no zeros.

    Args:
        value: A number; None or nan: unknown.
        digits: After the point.

    Returns:
        Text; a dash for what is unknown.
    """
    if value is None or math.isnan(value):
        return NONE
    small = ROUNDING < abs(value) < SMALL
    return f"{value:.4g}" if small else f"{value:.{digits}f}"


def integer(value: float | None) -> str:
    """A whole number that a table may hold as 3.0, or lack.

    Args:
        value: A number; None or nan: unknown.

    Returns:
        Text; a dash for what is unknown.
    """
    return NONE if value is None or math.isnan(value) else str(int(value))


def count(value: float | None) -> str:
    """1234567 → 1,234,567; from ten millions on 1.23e+07.

    Args:
        value: A number; None or nan: unknown.

    Returns:
        Text; a dash for what is unknown.
    """
    if value is None or math.isnan(value):
        return NONE
    return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.3g}"


def size(value: float | None) -> str:
    """Bytes in powers of 1000.

    Args:
        value: Bytes; None or nan: unknown.

    Returns:
        "1.23 MB", say; a dash for what is unknown.
    """
    if value is None or math.isnan(value):
        return NONE
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5 or unit == "TB":
            break
        value /= 1000
    three_digits = unit != "B" and value < 100
    return f"{value:.3g} {unit}" if three_digits else f"{value:.0f} {unit}"


def seconds(value: float | None) -> str:
    """0.25 → 250 ms, 90 → 90.0 s, 3600 → 60.0 min; from two hours on hours, from two
    days on days.

    Args:
        value: Seconds; None or nan: unknown.

    Returns:
        Text; a dash for what is unknown.
    """
    if value is None or math.isnan(value):
        return NONE
    if value < 1:
        return f"{value * 1000:.3g} ms"
    for most, size, unit in ((600, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if value < most:
            return f"{value / size:.1f} {unit}"
    return f"{value / 86_400:.1f} days"


def label(measure: str) -> str:
    """A measure as people write it: "auc" → "AUC".

    Args:
        measure: The name of a measure, or of what is recorded beside measures.

    Returns:
        Words for a heading, without a unit.
    """
    return measure_named(measure).label


def is_share(measure: str) -> bool:
    """Whether a measure is shown in per cent.

    Args:
        measure: The name of a measure, or of what is recorded beside measures.

    Returns:
        True of accuracies; False of an AUC.
    """
    return measure_named(measure).percent


def value(measure: str, number: float | None) -> str:
    """A value of a measure: 73.46 % of an accuracy, 0.7346 of an AUC.

    Args:
        measure: The name of a measure.
        number: Its value, a fraction where it is a share; None: unknown.

    Returns:
        Text; a dash for what is unknown.
    """
    return percent_or_dash(number) if is_share(measure) else decimal(number)


def spread(measure: str, numbers: Mapping[str, Any]) -> list[str]:
    """The numbers over clients as the cells of SPREADS.

    Args:
        measure: The name of a measure, or of what is recorded beside measures.
        numbers: {"mean", "weighted", "std", "worst_decile"}; None: unknown.

    Returns:
        Texts; a dash where no value is worse than another, as of thresholds.
    """
    better = {**numbers, "worst_decile": None} if measure in ASIDE else numbers
    return [value(measure, better[key]) for key in SPREADS]


def others(names: Collection[str]) -> str:
    """What is to be known of the measures that a table has.

    Args:
        names: Of its measures.

    Returns:
        Sentences.
    """
    said = "Clients: those where a measure is defined."
    if {"rmse", "mae"} & {*names}:
        said += " RMSE and MAE are in the units of the label."
    return f"{said} {THRESHOLDS}" if "sensitivity" in names else said


def at_round(round: int | None, planned: int | None) -> str:
    """The round a number is from; what follows the last round is the finish.

    Args:
        round: From 0; None: unknown.
        planned: Rounds of the run; None: unknown.

    Returns:
        Text; a dash for what is unknown.
    """
    if round is None:
        return NONE
    return "finish" if planned is not None and round > planned else str(round)


def rank(place: int, tie: bool) -> str:
    """1, or 1= where it is shared.

    Args:
        place: From 1.
        tie: Whether another one has it, too.

    Returns:
        Text.
    """
    return f"{place}=" if tie else str(place)


def half_width(measure: str, width: float | None) -> str:
    """± 1.2 after a mean; nothing where there is no interval.

    Args:
        measure: The name of a measure.
        width: Half of the interval, a fraction where the measure is a share; None: there is none.

    Returns:
        Text, or "".
    """
    if width is None or not math.isfinite(width):
        return ""
    return f" ± {value(measure, width).removesuffix(' %')}"


def interval(measure: str, ends: Sequence[float] | None) -> str:
    """An interval of a measure: 71.20 … 75.30 %.

    Args:
        measure: The name of a measure.
        ends: (low, high), fractions where the measure is a share; None: there is none.

    Returns:
        Text; a dash where there is none.
    """
    if ends is None:
        return NONE
    low, high = (value(measure, end) for end in ends)
    return f"{low.removesuffix(' %')} … {high}"


def interval_method(clients: int) -> str:
    """How an interval over so many clients is found.

    Args:
        clients: How many.

    Returns:
        "Student's t", "bootstrap" or "normal distribution".
    """
    if clients < FOR_BOOTSTRAP:
        return "Student's t"
    return "normal distribution" if clients > LARGE else "bootstrap"


def plain(value: Any) -> str:
    """A note or a setting, short: of what fills no page, all; of the rest, its beginning.

    Args:
        value: Plain values, of any depth.

    Returns:
        At most LONGEST letters, and an ellipsis where it was cut.
    """
    return cut(_plain(value), LONGEST)


def _plain(value: Any) -> str:
    if value is None:
        return "none"  # as a list of hyper-parameters has it
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_plain(item)}" for key, item in value.items())
    return value if isinstance(value, str) else json.dumps(value)
