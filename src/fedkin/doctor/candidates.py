"""Three methods to try first, each with its reason: what it shares, what is gained, who would lose,
what it needs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fedkin.core.method import Needs
from fedkin.doctor.risky_methods import risky_for
from fedkin.doctor.verdict import Examined, Gain, losers
from fedkin.methods import make
from fedkin.runs.short_form import pieces
from fedkin.setup.arguments.typed_method import typed_method

MOST = 3
# Up to fifteen epochs at home, as many as validate best: measured by benchmarks/own_truth.py
TUNED = "finetune:keep=best,epochs=15"
METHODS = {
    "shared": ("fedavg", "scaffold"),
    "offset": ("fedper", TUNED),
    "anchored": (TUNED, "apfl", "ditto"),
    "grouped": ("ifca", "hypcluster"),
}
SIMPLEST = ("shared", "anchored", "offset", "grouped")  # from one model to several
SPLIT = ("fedper",)  # share all layers but the last
REASONS = {
    "shared": "one model for all is best where clients have one concept",
    "offset": "one model, each client with an output layer of its own, where labels are unlike",
    "anchored": "own models near the shared one, where concepts are alike but not the same",
    "grouped": "a model for each group of like clients, where there are groups",
}


def candidates(
    examination: Examined,
    names: Sequence[str],
    federate: bool,
    layers: int = 2,
    runs: Callable[[str], bool] = lambda method: True,
) -> list[dict[str, Any]]:
    """Up to three methods: the first of each way in their order, then the second ones. A way that
    surely loses, by its 95 % interval, is left out where another does not. Where the verdict is to
    federate, so is a method that may lose on such data, unless all may.

    Args:
        examination: What cross-validation found.
        names: Of the population's clients.
        federate: Whether the verdict is to federate.
        layers: How many layers with parameters the experiment's model has; of one layer nothing is
            left to share where the last is personal.
        runs: Whether the experiment takes a method, which its [privacy] may not fit.

    Returns:
        Plain values: "method" as it is typed after --method, "way", "reason", "lose" (names of
        clients), "needs"; "gain", "low" and "high" are against each client alone, in the measure's
        unit.
    """
    ways = _hopeful(examination.ways)
    fitting = {way: _fitting(way, layers) for way in ways}
    depth = max(len(methods) for methods in fitting.values())
    order = [(fitting[way][k], way) for k in range(depth) for way in ways if k < len(fitting[way])]
    chosen: dict[str, str] = {}
    for method, way in order:
        chosen.setdefault(method, way)
    able = list(filter(runs, chosen))
    if able and federate:
        cautioned = risky_for(chosen[able[0]])
        able = [method for method in able if split_name(method)[0] not in cautioned] or able
    lines = []
    for method in able[:MOST]:
        way = chosen[method]
        gain = examination.ways[way]
        low, high = gain.interval()
        lose = [names[k] for k in losers(gain)]
        name, options = split_name(method)
        lines.append(
            {
                "method": method,
                "way": way,
                "reason": REASONS[way],
                "gain": gain.mean,
                "low": low,
                "high": high,
                "lose": lose,
                "needs": needs(make(name, options, {"lr": 0.1}).needs),
            }
        )
    return lines


def left_out(examination: Examined, layers: int, runs: Callable[[str], bool]) -> list[str]:
    """Methods of the first way, where the experiment takes none of them: what is gained by it is
    not to be had. Empty where it takes one.

    Args:
        examination: What cross-validation found.
        layers: How many layers with parameters the experiment's model has.
        runs: Whether the experiment takes a method.

    Returns:
        Methods as they are typed after --method.
    """
    first = [method for way in _hopeful(examination.ways)[:1] for method in _fitting(way, layers)]
    return [] if any(runs(method) for method in first) else first


def _fitting(way: str, layers: int) -> list[str]:
    """A way's methods for a model of so many layers."""
    return [method for method in METHODS[way] if layers > 1 or method not in SPLIT]


def _hopeful(ways: Mapping[str, Gain]) -> list[str]:
    """The ways in their order, without those that surely lose; all of them where all do."""
    order = in_order(ways)
    return [way for way in order if ways[way].interval()[1] >= 0] or order


def split_name(method: str) -> tuple[str, dict[str, Any]]:
    """A candidate's name and hyper-parameters: finetune:keep=best → ("finetune", {"keep": …}).

    Args:
        method: As it is typed after --method.

    Returns:
        (name, {hyper-parameter: value}).

    Raises:
        FedkinError: The text is no method with its keys.
    """
    return typed_method(method)


def split_names(text: str) -> list[str]:
    """Several methods, each as ``--method`` takes it: ``fedavg,finetune:keep=best,epochs=15`` are
    two, since a key without a name before it is the last one's.

    Args:
        text: Methods with commas between them.

    Returns:
        A text each.
    """
    names: list[str] = []
    for piece in filter(None, pieces(text)):
        if names and "=" in piece and ":" not in piece.partition("=")[0]:
            names[-1] += f",{piece}"
        else:
            names.append(piece)
    return names


def in_order(ways: Mapping[str, Gain]) -> list[str]:
    """The ways by their gain, but first the simplest that is as good as the best: not more than one
    standard error of the best below it (Breiman et al., 1984, section 3.4.3). A gain that cannot be
    distinguished from another is no reason for more models to keep, to send and to fit on few rows.

    Args:
        ways: {way: its gain}.

    Returns:
        The names of all ways.
    """
    order = sorted(ways, key=lambda way: -ways[way].mean)
    if not order:
        return order
    best = ways[order[0]]
    as_good = [way for way in order if ways[way].mean >= best.mean - best.error]
    first = min(as_good, key=SIMPLEST.index)
    return [first, *(way for way in order if way != first)]


def needs(of: Needs) -> list[str]:
    """What a method asks for, in words.

    Args:
        of: What the method declares.

    Returns:
        A few words each; [] where it asks for nothing.
    """
    words = ["one architecture"] if of.one_architecture else []
    if of.public != "none":
        words.append("a public set" + (" with labels" if of.public == "labeled" else ""))
    if of.full_participation:
        words.append("every client in every round")
    if of.classes:
        words.append("classes, not numbers")
    if of.validation:
        words.append("validation rows at every client")
    return words
