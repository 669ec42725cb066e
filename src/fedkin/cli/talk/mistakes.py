"""What a command says of a mistake: one line on stderr."""

import sqlite3
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fedkin.core.errors import FedkinError, cut
from fedkin.core.escaping import plain
from fedkin.experiment.terminal import ERROR, LONGEST, fail
from fedkin.runs.directory import SPEC

ROOM = LONGEST - len(ERROR) - 20  # letters of a sentence before its code


def print_error(sentence: str, code: str) -> None:
    """One line on stderr, whatever the sentence holds, with the code of its family last.

    Args:
        sentence: What was wrong.
        code: The family of the error, such as FED-301.
    """
    shown = " ".join(plain(sentence).split())
    fail(f"{cut(shown, ROOM)} [{code}]")


def of_the_system(error: OSError | sqlite3.Error) -> str:
    """What the operating system refused, without its numbers.

    Args:
        error: What was raised.

    Returns:
        The file and the system's reason, where the error names a file; else the error's text.
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename} cannot be read or written: {error.strerror}"
    return str(error)


def interrupted(error: FedkinError) -> bool:
    """Whether the user stopped a run.

    Args:
        error: What was raised.

    Returns:
        False of any other error.
    """
    # who has not loaded it was not interrupted in it
    training = sys.modules.get("fedkin.experiment.training")
    return training is not None and isinstance(error, training.Interrupted)


def refuse_nameless(words: Sequence[str]) -> None:
    """Refuse ``--out ""``: as a path it is the folder that one stands in.

    Args:
        words: As they were typed.

    Raises:
        FedkinError: An --out is empty.
    """
    for word, after in pairwise([*words, "?"]):
        name, equals, value = word.partition("=")
        if name == "--out" and not (value if equals else after).strip():
            raise FedkinError("--out is empty: name a folder or a file, or leave --out away")


def usage(error: Any) -> str:
    """What was wrong with the command line; other libraries' names of options lead to ours.

    Args:
        error: Of the parser of the command line.

    Returns:
        A sentence.
    """
    from fedkin.runs.usual_names import USUAL_NAMES

    option = str(getattr(error, "option_name", "") or "").lstrip("-").replace("-", "_")
    if option in USUAL_NAMES:
        return (
            f"--{option.replace('_', '-')} is called {USUAL_NAMES[option]} here: --set "
            f"{USUAL_NAMES[option]}=VALUE"
        )
    return _of_a_run(error) or str(error.format_message()) or _of_a_group(error)


def _of_a_group(error: Any) -> str:
    """For ``fedkin bench`` alone, after its help."""
    context = error.ctx
    return f"{context.command_path} needs a command: {', '.join(sorted(context.command.commands))}"


def _of_a_run(error: Any) -> str:
    """For ``fedkin resume`` with an option of ``fedkin run``: a run keeps its settings."""
    context = getattr(error, "ctx", None)
    if context is None or context.info_name != "resume" or context.parent is None:
        return ""
    asked = str(getattr(error, "option_name", ""))
    run = context.parent.command.commands["run"]
    if asked not in {name for parameter in run.params for name in parameter.opts}:
        return ""
    return (
        f"a run goes on with the settings it began with, so resume takes no {asked}: start "
        f"another one with fedkin run DIR/{SPEC} {asked} VALUE --out ANOTHER"
    )
