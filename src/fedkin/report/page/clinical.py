"""Two-class results as a clinician reads them."""

from collections.abc import Mapping
from html import escape
from typing import Any

from fedkin.report import formatting

LEVEL = 0.05  # a mean error of probabilities from which they are called uncalibrated


def clinical(found: Mapping[str, Any]) -> str:
    """Sensitivity, specificity and calibration in sentences; "" where they were not measured.

    Args:
        found: The run's ``summary``.
    """
    for view, numbers in found["measures"].items():
        known = {name: of["mean"] for name, of in numbers.items() if of["mean"] is not None}
        if "sensitivity" in known and "specificity" in known:
            said = "".join(f"<li>{escape(text)}</li>" for text in _sentences(known, numbers))
            return (
                '<section id="clinical"><h2>For a clinician</h2><p class="soft">'
                f"{escape(view)} models, final round, means over clients; each client has a "
                "threshold that its own validation samples chose. The table of the clients has "
                "each one's numbers and how many test samples they rest on.</p>"
                f"<ul>{said}</ul></section>"
            )
    return ""


def _sentences(known: Mapping[str, float], numbers: Mapping[str, Any]) -> list[str]:
    ill, well = known["sensitivity"], known["specificity"]
    worst = {name: formatting.percent(numbers[name]["worst_decile"]) for name in CLASSES}
    said = [
        f"Sensitivity {formatting.percent(ill)}: of 100 cases of the second class "
        f"{100 * ill:.0f} are found and {100 - 100 * ill:.0f} missed (worst tenth of the "
        f"clients: {worst['sensitivity']}).",
        f"Specificity {formatting.percent(well)}: of 100 others {100 * well:.0f} are cleared and "
        f"{100 - 100 * well:.0f} raise a false alarm (worst tenth: {worst['specificity']}).",
    ]
    if "auc" in known:
        said.append(
            f"AUC {known['auc']:.3f}: in {100 * known['auc']:.0f} of 100 pairs the case gets the "
            "higher probability, whatever the threshold."
        )
    if "ece" in known:
        fits = "close to what was seen" if known["ece"] < LEVEL else "not to be read literally"
        said.append(
            f"Calibration error {known['ece']:.3f}: a predicted probability is off by "
            f"{100 * known['ece']:.0f} points on average, so probabilities are {fits}."
        )
    clients = numbers["sensitivity"]["clients"]
    said.append(
        f"Sensitivity is defined for {formatting.many(clients, 'client')}: those with a case "
        "among their test samples."
    )
    return said


CLASSES = ("sensitivity", "specificity")
