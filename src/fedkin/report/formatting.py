"""Numbers and names as people read them; the same in the terminal and on the page."""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from fedkin.core.errors import cut
from fedkin.core.errors import many as many
from fedkin.core.errors import percent as percent_of
from fedkin.core.measures import measure_named
from fedkin.report.deployed import summed_up

LARGE = (
    5000  # clients, above which a page shows a panel, and intervals are the normal distribution's
)
FOR_BOOTSTRAP = 30  # values, below which an interval of their mean is Student's t
WAYS = f"Student's t below {FOR_BOOTSTRAP} values, else bootstrap"

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


SMALL, ROUNDING = 1e-3, 1e-12  # below the first digits are counted, below the second none is sure


def percent(value: float | None) -> str:
    """0.7346 → 73.46 %.

    Args:
        value: A fraction; None or nan: unknown.

    Returns:
        With two decimals; a dash for what is unknown.
    """
    return NONE if value is None or math.isnan(value) else percent_of(value, 2)


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


def whole(value: float | None) -> str:
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


def share(measure: str) -> bool:
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
    return percent(number) if share(measure) else decimal(number)


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


BASELINES = {
    "constant": "most frequent class, or mean, of each client",
    "linear": "own linear model of each client",
}
OTHERS = (
    "Clients: those where a measure is defined. Thresholds were chosen on each client's "
    "validation data."
)


def other_measures(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Of a run (a ``summary``): {view: {name: numbers}} of what stands beside its own measure,
    final.

    A global view that is the personal one in every number is left out.

    Args:
        found: The summary.

    Returns:
        {} where the run measures nothing else.
    """
    every: dict[str, dict[str, Any]] = {}
    for view, measures in found["measures"].items():
        accuracy = (found["accuracy"].get(view) or {}).get("final")
        loss = {} if not found["accuracy"] else {"log_loss": found["loss"][view]["final"]}
        known = {**({"accuracy": accuracy} if accuracy else {}), **loss, **measures}
        shown = {
            name: numbers for name, numbers in known.items() if name not in (found["measure"], "se")
        }
        if measures and (view == "personal" or shown != every.get("personal")):
            every[view] = shown
    return every


def rank(place: int, tie: bool) -> str:
    """1, or 1= where it is shared.

    Args:
        place: From 1.
        tie: Whether another one has it, too.

    Returns:
        Text.
    """
    return f"{place}=" if tie else str(place)


def half(measure: str, width: float | None) -> str:
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


def notes_of(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): what is to be said beside its numbers.

    Args:
        found: The summary.

    Returns:
        A sentence each.
    """
    said = [
        f"measure: {label(found['measure'])}" + (f" ({found['why']})" if found.get("why") else "")
    ]
    told = (found["warnings"], summed_up(found), diverged(found), undefined(found), asked(found))
    return [*said, *chain(*told)]


def way(clients: int) -> str:
    """How an interval over so many clients is found.

    Args:
        clients: How many.

    Returns:
        "Student's t", "bootstrap" or "normal distribution".
    """
    if clients < FOR_BOOTSTRAP:
        return "Student's t"
    return "normal distribution" if clients > LARGE else "bootstrap"


def asked(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): whom its rounds evaluated, where that was not everybody.

    Args:
        found: The summary.

    Returns:
        [] or one sentence.
    """
    panel = found.get("evaluated")
    if not panel:
        return []
    if panel["who"] == "participants":
        return [
            "every evaluation asked the participants of its round, the final one too: means over "
            "clients are estimates, and the intervals say how sure"
        ]
    return [
        f"rounds before the last evaluated a panel of {panel['clients']:,} of {panel['of']:,} "
        "clients: the best rounds and their means are the panel's; interval: "
        f"{way(panel['clients'])} over it"
    ]


def diverged(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): a sentence for each view in which a client's last loss is no finite
    number.

    Args:
        found: The summary.

    Returns:
        A sentence each.
    """
    finals = {view: picks["final"] for view, picks in found["loss"].items()}
    return [
        f"{view}: {final['without']} of {many(final['without'] + final['clients'], 'client')} "
        "diverged: "
        "their test loss is no finite number, and no mean of losses has them"
        for view, final in finals.items()
        if final["without"]
    ]


def undefined(found: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): a sentence for each view that was predicted with, and of which the
    measure yet says nothing of anybody.

    Args:
        found: The summary.

    Returns:
        A sentence each.
    """
    said = []
    for view, picks in found["headline"].items():
        final, predicted = picks["final"], found["loss"][view]["final"]["clients"]
        if predicted and final["without"] and not final["clients"]:
            said.append(
                f"{view}: {label(found['measure'])} says nothing: none of "
                f"{many(final['without'], 'client')} with test samples has a number, for it is "
                "not defined there, or gives nan or infinity"
            )
    return said


def privacy(facts: Mapping[str, Any]) -> str:
    """What a run's noise gives (its fact ``privacy``), in one line.

    Args:
        facts: The run's fact "privacy".

    Returns:
        Text.
    """

    def shown(name: str) -> str:
        value = facts.get(name)
        return f"{value:.4g}" if isinstance(value, int | float) else str(value)[:60]

    rounds = "1 round" if facts.get("rounds") == 1 else f"{shown('rounds')} rounds"
    by = {"distributed": "clients, a share each"}.get(str(facts.get("where")), shown("where"))
    loud = "NOT PRIVATE (privacy.seeded): " if facts.get("seeded") else ""
    replaced = ""
    if "epsilon_replaced" in facts:
        replaced = f" ({shown('epsilon_replaced')} for other data in the place of a client's)"
    return (
        f"{loud}epsilon {shown('epsilon')}{replaced} at delta {shown('delta')} for "
        f"{shown('protects')}, against {shown('from')}, after {rounds}; clip {shown('clip')}, "
        f"noise {shown('noise')} by the {by}; outside of it: "
        f"{str(facts.get('outside'))[:400]}"
    )


def progress(found: Mapping[str, Any]) -> str:
    """How far a run (a ``summary``) has come.

    Args:
        found: The summary.

    Returns:
        "12 of 50 rounds, NOT finished", say.
    """
    planned = NONE if found["planned"] is None else found["planned"]
    return (
        f"{found['rounds']} of {planned} rounds, "
        f"{'finished' if found['finished'] else 'NOT finished'}"
    )


def source(found: Mapping[str, Any]) -> str:
    """The data of a run (a ``summary``): a name, or a file without its folders.

    Args:
        found: The summary.

    Returns:
        Text.
    """
    return Path(str(found["data"])).name


def split(found: Mapping[str, Any]) -> str:
    """The split of a run (a ``summary``) with its parameters: dirichlet alpha=0.1 floor=10.

    Args:
        found: The summary.

    Returns:
        Text.
    """
    options = [f"{name}={plain(value)}" for name, value in found["split_parameters"].items()]
    return " ".join([str(found["split"]), *options])


def plain(value: Any) -> str:
    """A note or a setting, short: of what fills no page, all; of the rest, its beginning.

    Args:
        value: Plain values, of any depth.

    Returns:
        At most LONGEST letters, and an ellipsis where it was cut.
    """
    return cut(_plain(value), LONGEST)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_plain(item)}" for key, item in value.items())
    return value if isinstance(value, str) else json.dumps(value)
