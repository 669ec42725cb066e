"""``--quiet`` and ``--verbose``, which every command takes."""

import logging
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup, TyperOption

from fedkin.core.errors import traceback_lines
from fedkin.experiment.terminal import LOG, loudness

QUIET, VERBOSE = "--quiet", "--verbose"


def everywhere(group: TyperGroup) -> None:
    """Give both options to every command below a group.

    Args:
        group: Which is changed.
    """
    for one in _below(group):
        one.params = [*one.params, _option(QUIET, logging.ERROR, "Print results and errors only.")]
        meaning = "Print more: files, settings, tracebacks."
        one.params = [*one.params, _option(VERBOSE, logging.DEBUG, meaning)]


def tell_where(error: BaseException) -> None:
    """With ``--verbose``: the lines of code that an error came through.

    Args:
        error: What was raised.
    """
    for line in traceback_lines(error):
        LOG.debug("%s", line)


def _below(group: Any) -> Iterator[Any]:
    for one in group.commands.values():
        yield one
        if hasattr(one, "commands"):
            yield from _below(one)


def _option(name: str, level: int, text: str) -> TyperOption:
    def chosen(context: Any, option: Any, chosen_value: bool) -> None:
        if chosen_value:
            loudness(level)

    return TyperOption(
        param_decls=[name],
        is_flag=True,
        default=False,
        expose_value=False,
        is_eager=True,
        callback=chosen,
        help=text,
    )
