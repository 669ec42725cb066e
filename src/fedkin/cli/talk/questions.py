"""Questions that a command asks: answered by number or name, from a person or a pipe."""

from collections.abc import Sequence

import typer

from fedkin.core.errors import FedkinError, unknown
from fedkin.experiment.terminal import print_notice, say

YES = ("y", "yes")
NO = ("n", "no")


def choose(text: str, names: Sequence[str], proposed: str, option: str) -> str:
    """One of several, by its number or its name.

    Args:
        text: The question.
        names: What there is to choose from.
        proposed: The one that an empty answer takes.
        option: The option that answers without a question.

    Returns:
        One of ``names``.

    Raises:
        FedkinError: Where the input ends without an answer.
    """
    say(f"\n{text}")
    for number, name in enumerate(names, start=1):
        say(f"  {number:>2}  {name}{'  (proposed)' if name == proposed else ''}")
    while True:
        given = _answer(f"Number or name [{names.index(proposed) + 1}]", text, option)
        if not given:
            return proposed
        if given in names:
            return given
        if given.isascii() and given.isdigit() and 1 <= int(given[:6]) <= len(names):
            return names[int(given[:6]) - 1]
        print_notice(str(unknown("answer", given, names)))


def free(text: str, proposed: str, option: str) -> str:
    """A text of one line; an empty one takes what is proposed.

    Args:
        text: The question.
        proposed: What an empty answer takes.
        option: The option that answers without a question.

    Returns:
        The answer.

    Raises:
        FedkinError: The input ends without an answer.
    """
    say(f"\n{text}")
    return _answer(f"[{proposed}]", text, option) or proposed


def agree(text: str, proposed: bool, option: str) -> bool:
    """Whether a person says yes to a question.

    Args:
        text: The question.
        proposed: What an empty answer takes.
        option: The option that answers without a question.

    Returns:
        True of yes.

    Raises:
        FedkinError: The input ends without an answer.
    """
    say(f"\n{text}")
    while True:
        given = _answer("[Y/n]" if proposed else "[y/N]", text, option).lower()
        if not given:
            return proposed
        if given in (*YES, *NO):
            return given in YES
        print_notice(f"{given!r} is neither yes nor no")


def _answer(prompt: str, question: str, option: str) -> str:
    try:
        return str(typer.prompt(prompt, default="", show_default=False)).strip()
    except typer.Abort:
        raise FedkinError(
            f"no answer to {question.splitlines()[0]!r}: give {option}, or --yes to take what is "
            "proposed"
        ) from None
