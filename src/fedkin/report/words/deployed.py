"""What clients deploy in a run with [method] safe, and why: the words for it."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import many, percent
from fedkin.runs.bounds import is_number

SHARE, CHANCE = "safe_share", "safe_chance"  # what ``transforms.safe`` calls them in the record

LUCK = "chance of such a gain in validation if it were no better"


def shares_of(summary: Mapping[str, Any]) -> dict[str, float]:
    """Of a run (a ``summary``): how much of the federated model each client deploys.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        {client's name: in [0, 1]}; {} where the run is not safe, or not at its end.
    """
    return _numbers(summary["extras"].get(SHARE, {}))


def summed_up(summary: Mapping[str, Any]) -> list[str]:
    """Of a run (a ``summary``): how many clients deploy which model.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        A sentence; none where the run is not safe, or not at its end.
    """
    shares = shares_of(summary)
    if not shares:
        return []
    together = sum(share == 1 for share in shares.values())
    alone = sum(share == 0 for share in shares.values())
    why = ", whose validation does not say that a federated one is better" if alone else ""
    return [
        f"safe: of {many(len(shares), 'client')} {together} deploy the federated model, "
        f"{len(shares) - together - alone} a mixture, {alone} their own{why}"
    ]


def by_client(summary: Mapping[str, Any]) -> dict[str, str]:
    """Of a run (a ``summary``): what each client deploys, and why.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        {client's name: words}; {} where the run is not safe, or not at its end.
    """
    chances = _numbers(summary["extras"].get(CHANCE, {}))
    return {
        name: choice_in_words(share, chances.get(name))
        for name, share in shares_of(summary).items()
    }


def of_notes(notes: Mapping[str, Any]) -> str | None:
    """What a client deploys, and why, by the notes of its last round; None where none of them says
    so.

    Args:
        notes: {name: value} of one client.

    Returns:
        Text, or None.
    """
    known = _numbers(notes)
    return choice_in_words(known[SHARE], known.get(CHANCE)) if SHARE in known else None


def _numbers(notes: Mapping[str, Any]) -> dict[str, float]:
    """Those that are numbers: a node tells under these names whatever it likes."""
    return {name: value for name, value in notes.items() if is_number(value)}


def in_a_word(share: float) -> str:
    """What a client deploys, for a cell of a file.

    >>> in_a_word(0.0), in_a_word(0.25), in_a_word(1.0)
    ('own', 'mixture 0.25', 'federated')

    Args:
        share: Of the federated model, in [0, 1].

    Returns:
        A word; of a mixture with the share behind it.
    """
    return {0.0: "own", 1.0: "federated"}.get(share, f"mixture {share:g}")


def choice_in_words(share: float, chance: float | None) -> str:
    """A client's choice in words.

    >>> choice_in_words(0.25, 0.031)
    'a mixture of 25 % of the federated model and 75 % of its own: 3.10 % chance of such a gain \
in validation if it were no better'
    >>> choice_in_words(1.0, None)
    'the federated model'

    Args:
        share: Of the federated model, in [0, 1].
        chance: What its test found; of several that did not pass, the least. None: not known.

    Returns:
        Text.
    """
    chance_words = "" if chance is None else percent(chance, 2)
    if share == 0:
        what = "its own model: validation does not say that a federated one is better"
        return f"{what} ({chance_words} {LUCK}, at the least)" if chance_words else what
    own = f"{percent(1 - share, 0)} of its own"
    mixture = f"a mixture of {percent(share, 0)} of the federated model and {own}"
    what = "the federated model" if share == 1 else mixture
    return f"{what}: {chance_words} {LUCK}" if chance_words else what
