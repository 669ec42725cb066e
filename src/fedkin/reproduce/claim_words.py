"""Claims and their verdicts in words, for every page of them."""

import math

from fedkin.report import formatting
from fedkin.reproduce.claim import Case
from fedkin.reproduce.claim_runs import JudgedClaim
from fedkin.reproduce.claim_verdict import ONLY, OPEN, SEEDS, Finding

ONE_CLAIM = "The runs of one claim, and its verdict:"
OF_ONE_CLAIM = "fedkin reproduce claims PAPER --rows CLAIM-ID"
HOW = {
    "above": "difference",
    "within": "difference",
    "best": "difference to the next best",
    "trend": "rise from first to last",
    "order": "least rise from one to the next",
    "reaches": "value",
    "ratio": "ratio",
    "share": "share of pairs",
    "steadier": "sd over seeds, the other's divided by its own",
}


def verdict(judged: JudgedClaim) -> str:
    """The verdict in words: "holds only where mnist".

    Args:
        judged: A claim with its verdict.

    Returns:
        Words.
    """
    if judged.verdict == ONLY:
        return f"{judged.verdict} {'; '.join(judged.where)}"
    if judged.verdict == OPEN and judged.where:
        return f"{judged.verdict}, holds where it was decided ({'; '.join(judged.where)})"
    return judged.verdict


def legend(scale: str) -> list[str]:
    """How to read the page, sentence by sentence; "" is a break.

    Args:
        scale: "small" or "full".

    Returns:
        Sentences and breaks.
    """
    lines = [
        "Each number is a mean over pairs: the same client under the same seed in both runs.",
        "In brackets: its 95 % interval (Student's t), of seeds and of the clients of each.",
        f"A claim holds if the interval and every seed are on its side, with at least {SEEDS} "
        "seeds.",
        "It does not hold if all of them are on the other side; else it is undecided.",
        "Accuracies are of the last round, on test data, in percent; no round was chosen.",
    ]
    if scale == "small":
        lines += [
            "",
            "The small scale has fewer rounds, clients and samples, and smaller networks.",
        ]
        lines += ["A verdict here is about the small scale: it may differ at the papers' own."]
    return lines


def bound(case: Case) -> str:
    """What the number is held against: ", at least 3".

    Args:
        case: The test.

    Returns:
        Words that begin with a comma, or "".
    """
    lines = {"margin": "by more than", "at_least": "at least", "at_most": "at most"}
    if case.kind == "within":
        lines["margin"] = "at most"
    return "".join(f", {lines[key]} {value:g}" for key, value in case.bounds.items())


def measured(one: Finding) -> str:
    """The number and, where it has one, its interval.

    Args:
        one: The finding.

    Returns:
        Text; a dash where nothing was measured.
    """
    if math.isnan(one.effect):
        return formatting.NONE
    if math.isnan(one.low):
        return f"{one.effect:.4g}"
    return f"{one.effect:.4g} [{one.low:.4g}, {one.high:.4g}]"


def reached(one: Finding) -> str:
    """A case's verdict and why, on one line.

    Args:
        one: The finding.

    Returns:
        Text.
    """
    if not one.seeds:
        return "not run"
    return f"{one.verdict}: {one.why}" if one.why else one.verdict
