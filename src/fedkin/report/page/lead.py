"""What a report begins with: one sentence on the gain, and four numbers."""

from collections.abc import Mapping
from html import escape
from typing import Any

from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.page.gain import Gain
from fedkin.report.words.run_words import in_the_mean

Card = tuple[str, str, str]  # what it is, the number, what is to be known of it


def lead(summary: Mapping[str, Any], gain: Gain | None) -> str:
    """The sentence (and one more where the baseline trained for other rounds) and the cards; ""
    where nothing was evaluated.

    Args:
        summary: The run's ``summary``.
        gain: On a baseline; None: there is none.

    Returns:
        HTML, or "".
    """
    if not summary["headline"]:
        return ""
    said = sentence(summary, gain)
    if gain is not None and gain.rounds:
        said += f" {gain.rounds[:1].upper()}{gain.rounds[1:]}."
    paragraph = f'<p class="lead">{escape(said)}</p>'
    cards = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(number)}</dd>"
        f'<dd class="soft">{escape(note)}</dd></div>'
        for name, number, note in _cards(summary, gain)
    )
    return f'{paragraph}<dl class="keys four">{cards}</dl>'


def sentence(summary: Mapping[str, Any], gain: Gain | None) -> str:
    """Who gains on what, how much, and how sure that is.

    Args:
        summary: The run's ``summary``, with a headline.
        gain: On a baseline; None: there is none.

    Returns:
        One sentence.
    """
    measure = summary["measure"]
    if gain is None:
        final = next(iter(summary["headline"].values()))["final"]
        mean = formatting.value(measure, final["mean"])
        return (
            f"{summary['method']} reaches a test {formatting.label(measure)} of {mean}, "
            f"mean over {formatting.many(final['clients'], 'client')}."
        )
    clients = len(gain.by_client)
    better = "rises" if measure_named(measure).higher else "falls"
    way = better if gain.mean >= 0 else {"rises": "falls", "falls": "rises"}[better]
    helped, hurt = len(gain.helped), len(gain.hurt)
    if not helped and not hurt:
        return (
            f"With {summary['method']}, every client has the same test "
            f"{formatting.label(measure)} as with {gain.name}."
        )
    changes = (
        f"{way} by {absolute_difference(measure, abs(gain.mean))}" if gain.mean else "is the same"
    )
    return (
        f"With {summary['method']}, {helped} of {formatting.many(clients, 'client')} "
        f"{'does' if helped == 1 else 'do'} better than with {gain.name} and {hurt} "
        f"{'does' if hurt == 1 else 'do'} worse: test {formatting.label(measure)} {changes} on "
        f"average{_sure(gain)}."
    )


def _sure(gain: Gain) -> str:
    if gain.low is None or gain.high is None:
        return ""
    ends = f"95 % interval of the gain {ends_of(gain)}"
    return f" ({ends})" if gain.sure else f", which may be chance ({ends})"


def absolute_difference(measure: str, value: float) -> str:
    """A difference without its sign: 4.20 points of an accuracy, 0.0420 of an AUC.

    Args:
        measure: The name of the measure.
        value: A difference, at least 0; a fraction where the measure is a share.

    Returns:
        Text.
    """
    if formatting.is_share(measure):
        return f"{100 * value:.2f} points"
    return formatting.decimal(value)


def signed(measure: str, value: float) -> str:
    """+4.20 points of an accuracy.

    Args:
        measure: The name of the measure.
        value: A difference; a fraction where the measure is a share.

    Returns:
        Text; without a sign where it is 0.
    """
    size = absolute_difference(measure, abs(value))
    if value > 0:
        return f"+{size}"
    return f"−{size}" if value < 0 else size


def ends_of(gain: Gain) -> str:
    """Both ends of the gain's interval: +2.10 … +6.30 points.

    Args:
        gain: On a baseline.

    Returns:
        Text; a dash where there is no interval.
    """
    return between(gain.measure, gain.low, gain.high)


def between(measure: str, low: float | None, high: float | None) -> str:
    """Both ends of an interval of a difference: +2.10 … +6.30 points.

    Args:
        measure: The name of the measure.
        low: The lower end; a fraction where the measure is a share.
        high: The upper end.

    Returns:
        Text; a dash where an end is None.
    """
    if low is None or high is None:
        return formatting.NONE
    return f"{signed(measure, low).removesuffix(' points')} … {signed(measure, high)}"


def _cards(summary: Mapping[str, Any], gain: Gain | None) -> list[Card]:
    measure, (view, picks) = summary["measure"], next(iter(summary["headline"].items()))
    final, name = picks["final"], formatting.label(summary["measure"])
    over = f"{view} models, mean of {in_the_mean(final)}"
    ends = formatting.interval(measure, final.get("interval"))
    cards = [(f"final test {name}", formatting.value(measure, final["mean"]), f"{over}; {ends}")]
    if gain is not None:
        on = {"local": "on local training", "linear": "on own linear models"}
        title = f"gain {on.get(gain.against, 'on the most frequent class')}"
        cards.append((title, signed(measure, gain.mean), f"95 % interval {ends_of(gain)}"))
        equal = len(gain.by_client) - len(gain.helped) - len(gain.hurt)
        pairs = f"{len(gain.helped)} / {len(gain.hurt)}"
        cards.append(("clients helped / hurt", pairs, f"{equal} unchanged"))
    worst = formatting.value(measure, final["worst_decile"])
    cards.append(("worst tenth of the clients", worst, f"{view} models, mean {name}"))
    if gain is None:
        sent = summary["communication"]["unicast"]["bytes"]["total"]
        spent = formatting.seconds(summary["seconds"]["per_round"])
        cards.append(("sent", formatting.size(sent), "every message, both ways"))
        cards.append(("time of a round", spent, "median"))
    return cards
