"""Errors a user can make: one class, one sentence, the nearest valid choice."""

from collections.abc import Iterable
from difflib import get_close_matches


class FedkinError(Exception):
    """A mistake of the user, told in one sentence: what is wrong, where, the nearest valid choice.

    The command line prints the sentence and exits with 2; no traceback is shown.
    """


def unknown(kind: str, name: str, choices: Iterable[str]) -> FedkinError:
    """The error for a name that does not exist, with the nearest one that does.

    >>> str(unknown("method", "comte", ["comet", "fedavg"]))
    "unknown method 'comte': did you mean 'comet'? (choices: comet, fedavg)"
    """
    names = sorted(choices)
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f": did you mean {near[0]!r}?" if near else ""
    return FedkinError(f"unknown {kind} {name!r}{hint} (choices: {', '.join(names)})")
