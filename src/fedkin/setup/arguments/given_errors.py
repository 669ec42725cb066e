"""What is wrong with data that were given as a value, in the words of who gave them: rows of a
DataFrame and keywords, not lines of a copy that is gone by then and options of the command line.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.given import ARRAYS, GivenData

HEADER = 2  # lines of the copy before its row 0, as an editor counts them
OPTION = re.compile(r"(?P<how>(?:--)?set )(?P<quote>'?)(?P<key>[a-z_]+\.[a-z_]+)=")
APOSTROPHE = """'"'"'"""  # within a shell's quotes
QUOTED = re.compile(rf"(?:[^']|{APOSTROPHE})*")
BARE = re.compile(r"[^\s'),:]+")  # a value without quotes
ROLE = re.compile(r" has no \w+ column '(?P<name>.+?)'(?:: |$)")
SHORT = ("client", "label", "task", "drop", "missing", "group")  # keywords that need no section


@contextmanager
def in_callers_words(given: GivenData, path: Path) -> Iterator[None]:
    """Errors that are raised inside tell of ``given``, not of its copy.

    Args:
        given: What the caller gave.
        path: Its copy.

    Yields:
        Nothing.

    Raises:
        FedkinError: The one that was raised inside, with another sentence.
    """
    try:
        yield
    except FedkinError as error:
        error.args = (reworded(str(error), given, path), *error.args[1:])
        raise


def reworded(sentence: str, given: GivenData, path: Path) -> str:
    """A sentence on a copy as one on what was given.

    Args:
        sentence: Names the copy, perhaps with a line, and settings as the command line has them.
        given: What the caller gave.
        path: Its copy.

    Returns:
        With keywords and rows; of a column that is the index, that it is no column.
    """
    role = ROLE.search(sentence)
    if role is not None and role["name"] in given.index_names:
        return (
            f"data: {role['name']!r} is in the index of the DataFrame, and no column of it: give "
            "df.reset_index()"
        )
    what = "the arrays" if given.file == ARRAYS else "the DataFrame"
    sentence = re.sub(
        rf"{re.escape(str(path))}, line (\d+)",
        lambda match: f"{what}, row {int(match[1]) - HEADER}",
        sentence,
    )
    sentence = sentence.replace(str(path), what)
    if sentence.startswith(f"{path.stem}: "):
        sentence = what + sentence.removeprefix(path.stem)
    return _with_keywords(sentence)


def _with_keywords(sentence: str) -> str:
    """The sentence with settings as Python has them."""
    done = ""
    while (option := OPTION.search(sentence)) is not None:
        rest = sentence[option.end() :]
        if option["quote"]:
            inside = QUOTED.match(rest)
            assert inside is not None  # it matches nothing too
            value = inside[0].replace(APOSTROPHE, "'")
            rest = rest[inside.end() + 1 :]
        else:
            bare = BARE.match(rest)
            value = "" if bare is None else bare[0]
            rest = rest[len(value) :]
        verb = "" if option["how"].startswith("--") else option["how"]
        done += sentence[: option.start()] + verb + _keyword(option["key"], _value(value))
        sentence = rest
    return done + re.sub(r"--split (\w+)", r"split='\1'", sentence)


def _value(text: str) -> Any:
    """A value of a specification: words need no quotes there."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _keyword(key: str, value: Any) -> str:
    section, _, name = key.partition(".")
    short = section == "data" and name in SHORT
    return f"{name}={value!r}" if short else f"**{{{key!r}: {value!r}}}"
