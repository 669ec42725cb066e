"""Two-class results as a clinician reads them."""

from collections.abc import Mapping
from html import escape
from typing import Any

from fedkin.report import formatting
from fedkin.report.records import Run

LEVEL = 0.05  # a mean error of probabilities from which they are called uncalibrated


def case_of(run: Run) -> str:
    """What a case is: the name of the second class, as the record has it.

    Args:
        run: An open run.

    Returns:
        "" where there are not two classes.
    """
    names = run.facts.get("class_names") or []
    return str(names[1]) if len(names) == 2 else ""


def clinical(summary: Mapping[str, Any], case: str = "") -> str:
    """Sensitivity, specificity and calibration in sentences; "" where they were not measured.

    Args:
        summary: The run's ``summary``.
        case: The name of the second class, where it is known.

    Returns:
        HTML, or "".
    """
    for view, numbers in summary["measures"].items():
        known = {name: of["mean"] for name, of in numbers.items() if of["mean"] is not None}
        if "sensitivity" in known and "specificity" in known:
            of = f"“{case}”" if case else "the second class"
            items = "".join(f"<li>{escape(text)}</li>" for text in _sentences(known, numbers, of))
            return (
                '<section id="clinical"><h2>For a clinician</h2><p class="soft">'
                f"{escape(view.capitalize())} models, final round, means over clients. Each client "
                "has a threshold that its own validation samples chose. The table of the clients "
                "has each one's numbers, how many test samples they rest on, and how many cases it "
                "trained on.</p>"
                f"<ul>{items}</ul></section>"
            )
    return ""


def _sentences(known: Mapping[str, float], numbers: Mapping[str, Any], of: str) -> list[str]:
    ill, well = known["sensitivity"], known["specificity"]
    worst = {name: formatting.percent_or_dash(numbers[name]["worst_decile"]) for name in CLASSES}
    sentences = [
        f"Sensitivity {formatting.percent_or_dash(ill)}: of 100 cases of {of} "
        f"{100 * ill:.0f} are found and {100 - 100 * ill:.0f} missed (worst tenth of the "
        f"clients: {worst['sensitivity']}).",
        f"Specificity {formatting.percent_or_dash(well)}: of 100 others {100 * well:.0f} are "
        f"cleared and {100 - 100 * well:.0f} raise a false alarm (worst tenth: "
        f"{worst['specificity']}).",
    ]
    if "auc" in known:
        sentences.append(
            f"AUC {known['auc']:.3f}: in {100 * known['auc']:.0f} of 100 pairs the case gets the "
            "higher probability, whatever the threshold."
        )
    if "ece" in known:
        fits = "close to what was seen" if known["ece"] < LEVEL else "not to be read literally"
        sentences.append(
            f"Calibration error {known['ece']:.3f}: a predicted probability is off by "
            f"{100 * known['ece']:.0f} points on average, so probabilities are {fits}."
        )
    clients = numbers["sensitivity"]["clients"]
    sentences.append(
        f"Sensitivity is defined for {formatting.many(clients, 'client')}: those with a case "
        "among their test samples."
    )
    return sentences


CLASSES = ("sensitivity", "specificity")
