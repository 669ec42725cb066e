"""Errors a user can make: one class, one sentence, the nearest valid choice."""

import sys
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

__all__ = [
    "FedkinError",
    "Halted",
    "cut",
    "exception_text",
    "first_line",
    "letters",
    "many",
    "most_like",
    "named_line",
    "near",
    "percent",
    "reason",
    "some",
    "traceback_lines",
    "unknown",
]

MOST = 200  # characters of somebody else's error
FRAMES = "\nException raised from "  # torch: a page of its C++ frames follows
# characters of a name, and names, that are looked through for a likeness
LONGEST, FEW = (100, 10_000)
ALIKE = 0.56  # of difflib: below it a hint leads astray ("learning_rate": "weight_decay" has 0.4)


class FedkinError(Exception):
    """A usage error in one sentence: what is wrong, where, the nearest valid choice.

    The command line prints the sentence and its code, and exits with 2; no traceback is shown.

    Args:
        *said: The sentence.
    """

    def __init__(self, *said: object) -> None:
        super().__init__(*said)
        self.raised_in = _caller()  # a module's name: a worker process tells it, too

    @property
    def code(self) -> str:
        """The family of the error, such as FED-301: ``fedkin explain FED-301`` tells of it."""
        from fedkin.core.codes.families import code_of

        return code_of(str(self), self.raised_in)

    def reworded(self, sentence: str) -> "FedkinError":
        """The same error in other words, and of the same code.

        Args:
            sentence: What it says instead.

        Returns:
            To be raised from this one.
        """
        told = FedkinError(sentence)
        told.raised_in = self.raised_in
        return told


class Halted(FedkinError):
    """Work that could not go on here: no room, a lost worker, another process at it. No setting is
    to blame, and what is committed can be gone on with.
    """


def exception_text(error: BaseException) -> str:
    """What an exception says that may be anybody's: its class may fail to say it, and the name of a
    file in it may be no text.

    Args:
        error: Of a library, or of the user's own code.

    Returns:
        Text that a file can hold; "" where it says nothing.
    """
    try:
        text = str(error)
    except Exception:  # somebody else's __str__
        return ""
    text = text.partition(FRAMES)[0]
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def first_line(error: BaseException) -> str:
    """What somebody else's error says, in one line; where it says nothing, the name of
    its class.

    Args:
        error: Of a library, say.

    Returns:
        At most MOST characters.
    """
    return (exception_text(error).strip() or type(error).__name__).splitlines()[0][:MOST]


def reason(error: BaseException) -> str:
    """Why the system or a library could not do something: without the number and the path that
    Python adds, for the message names what it was about.

    >>> reason(OSError(30, "Read-only file system", "runs/first/run.lock"))
    'Read-only file system'

    Args:
        error: Of the system, or of a library.

    Returns:
        At most MOST characters.
    """
    of_the_system: str | None = getattr(error, "strerror", None)
    return of_the_system or first_line(error)


def named_line(error: BaseException) -> str:
    """The same after the name of its class: of code that is the user's own.

    Args:
        error: Of the user's own code.

    Returns:
        "ValueError: what it says", in one line.
    """
    return f"{type(error).__name__}: {first_line(error)}"


def traceback_lines(error: BaseException) -> list[str]:
    """The lines of code that an error came through; where another one caused it, those of that one
    first.

    Args:
        error: What was raised.

    Returns:
        Lines as Python's traceback has them.
    """
    before = [] if error.__cause__ is None else traceback_lines(error.__cause__)
    return before + "".join(traceback.format_tb(error.__traceback__)).splitlines()


def some(names: Iterable[str], most: int = 5) -> str:
    """The first names of a list that may be long, and how many there are beyond them.

    >>> some(["a", "b", "c"], most=2)
    'a, b and 1 more'

    Args:
        names: All of them.
        most: How many are named.

    Returns:
        The words of a message.
    """
    listed = list(names)
    return ", ".join(listed[:most]) + (
        f" and {len(listed) - most:,} more" if len(listed) > most else ""
    )


def many(number: int, one: str, more: str = "") -> str:
    """So many of a thing.

    >>> many(1, "client"), many(2000, "client"), many(1, "class is", "classes are")
    ('1 client', '2,000 clients', '1 class is')

    Args:
        number: How many there are.
        one: The thing in the singular, with its verb if it has one.
        more: The same in the plural; "" adds an s.

    Returns:
        The words of a message.
    """
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def percent(part: float, digits: int = 1) -> str:
    """How much of a whole, as everything that fedkin prints says it.

    >>> percent(0.1234), percent(0.5, 0), percent(2 / 3, 2)
    ('12.3 %', '50 %', '66.67 %')

    Args:
        part: A fraction, 0..1.
        digits: Decimals of the percent.

    Returns:
        The number, a space and the sign.
    """
    return f"{100 * part:.{digits}f} %"


def unknown(kind: str, name: str, choices: Iterable[str]) -> FedkinError:
    """The error for a name that does not exist, with the nearest one that does.

    >>> str(unknown("method", "comte", ["comet", "fedavg"]))
    "unknown method 'comte': did you mean 'comet'? (choices: comet, fedavg)"

    Args:
        kind: What the name should be one of: "method".
        name: What was given.
        choices: The names that exist.

    Returns:
        The error, to be raised by the caller.
    """
    names = sorted(choices)
    return FedkinError(
        f"unknown {kind} {cut(name)!r}{near(name, names)} (choices: "
        f"{cut(', '.join(names)) or 'none'})"
    )


def letters(name: str) -> str:
    """What of a name counts where people write it as they like.

    >>> letters("Per-FedAvg"), letters("per_fedavg")
    ('perfedavg', 'perfedavg')

    Args:
        name: As somebody typed it.

    Returns:
        Lower case, without hyphens, underscores and spaces.
    """
    return "".join(letter for letter in name.lower() if letter not in "-_ ")


def near(name: str, choices: Iterable[str]) -> str:
    """The hint at the choice that is most like a name, which may be anybody's; empty where none is.

    >>> near("comte", ["comet", "fedavg"])
    ": did you mean 'comet'?"

    Args:
        name: What was given; only its first LONGEST characters are looked at.
        choices: The names that exist; only the first FEW are looked at.

    Returns:
        Words to put behind the name in a message.
    """
    like = most_like(name, choices)
    return f": did you mean {like!r}?" if like else ""


def most_like(name: str, choices: Iterable[str]) -> str:
    """The choice that is most like a name, which may be anybody's; empty where none is.

    >>> most_like("comte", ["comet", "fedavg"])
    'comet'

    Args:
        name: What was given; only its first LONGEST characters are looked at.
        choices: The names that exist; only the first FEW are looked at.

    Returns:
        One of them, or "".
    """
    matches = get_close_matches(name[:LONGEST], islice(choices, FEW), n=1, cutoff=ALIKE)
    return matches[0] if matches else ""


def cut(text: str, most: int = 1000) -> str:
    """The beginning of a text that may be anybody's.

    >>> cut("abcdef", 4), cut("abc")
    ('abcd…', 'abc')

    Args:
        text: Of any length.
        most: Characters that are kept.

    Returns:
        The text, or its beginning and an ellipsis.
    """
    return text if len(text) <= most else f"{text[:most]}…"


def _caller() -> str:
    """The module that is making an error: the first one outside of this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
