"""Two-class results as a clinician reads them."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fedkin.report import formatting
from fedkin.report.records import Run

LEVEL = 0.05  # a mean error of probabilities from which they are called uncalibrated
OCCUPIED = 8  # of the 15 bins: the larger of two probabilities is never below a half
UNLUCKY = 1.5  # times what chance gives on average; one client is above it in 5 % of all draws


def case_of(run: Run) -> str:
    """What a case is: the name of the second class, as the record has it.

    Args:
        run: An open run.

    Returns:
        "" where there are not two classes.
    """
    names = run.facts.get("class_names") or []
    return str(names[1]) if len(names) == 2 else ""


def clinical(summary: Mapping[str, Any], case: str = "", rows: Sequence[int] = ()) -> str:
    """Sensitivity, specificity and calibration in sentences; "" where they were not measured.

    Args:
        summary: The run's ``summary``.
        case: The name of the second class, where it is known.
        rows: Test samples of each client.

    Returns:
        HTML, or "".
    """
    for view, numbers in summary["measures"].items():
        known = {name: of["mean"] for name, of in numbers.items() if of["mean"] is not None}
        if "sensitivity" in known and "specificity" in known:
            of = f"“{case}”" if case else "the second class"
            items = "".join(
                f"<li>{escape(text)}</li>" for text in _sentences(known, numbers, of, rows)
            )
            return (
                '<section id="clinical"><h2>For a clinician</h2><p class="soft">'
                f"{escape(view.capitalize())} models, final round, means over clients. "
                f"{escape(formatting.THRESHOLDS)} The table of the clients has each one's numbers, "
                "how many test samples they rest on, and how many cases it trained on.</p>"
                f"<ul>{items}</ul></section>"
            )
    return ""


def _sentences(
    known: Mapping[str, float], numbers: Mapping[str, Any], of: str, rows: Sequence[int]
) -> list[str]:
    ill, well = known["sensitivity"], known["specificity"]
    worst = {name: formatting.percent_or_dash(numbers[name]["worst_decile"]) for name in CLASSES}
    sentences = [
        f"Sensitivity {formatting.percent_or_dash(ill)}: of 100 cases of {of} at an average client "
        f"{100 * ill:.0f} are found and {100 - 100 * ill:.0f} missed (worst tenth of the "
        f"clients: {worst['sensitivity']}).",
        f"Specificity {formatting.percent_or_dash(well)}: of 100 others {100 * well:.0f} are "
        f"cleared and {100 - 100 * well:.0f} raise a false alarm (worst tenth: "
        f"{worst['specificity']}).",
    ]
    if "auc" in known:
        sentences.append(
            f"AUC {known['auc']:.3f}: in {100 * known['auc']:.0f} of 100 pairs of one client the "
            "case gets the higher probability, whatever the threshold."
        )
    if "ece" in known:
        chance = by_chance(known.get("brier"), rows)
        sentences.append(f"Calibration error {known['ece']:.3f}: {_calibrated(known, chance)}.")
    clients = numbers["sensitivity"]["clients"]
    sentences.append(
        f"Sensitivity is defined for {formatting.many(clients, 'client')}: those with a case "
        "among their test samples."
    )
    return sentences


def _calibrated(known: Mapping[str, float], chance: float) -> str:
    error = known["ece"]
    if LEVEL <= error < UNLUCKY * chance:
        return (
            f"true probabilities would have about {chance:.3f} by chance on so few test samples a "
            "client, which do not say whether they may be read literally"
        )
    fits = "close to what was seen" if error < LEVEL else "not to be read literally"
    off = f"a predicted probability is off by {100 * error:.0f} points on average"
    return f"{off}, so probabilities are {fits}"


def by_chance(brier: float | None, rows: Sequence[int]) -> float:
    """The mean calibration error of clients whose probabilities are all true, at most: each bin's
    share of cases differs from its mean probability by chance.

    Args:
        brier: The Brier score, mean over clients, which is then the mean of p (1 − p); None: not
            known.
        rows: Test samples of each client.

    Returns:
        √(2 · brier · bins / (π · rows)), mean over clients; 0 where it is not known.
    """
    tested = [one for one in rows if one]
    if brier is None or not tested:
        return 0.0
    each = [math.sqrt(2 * brier * min(OCCUPIED, one) / (math.pi * one)) for one in tested]
    return sum(each) / len(each)


CLASSES = ("sensitivity", "specificity")
