"""An option that is given twice, of which the first would be lost in silence."""

from collections import Counter
from collections.abc import Sequence
from functools import wraps
from typing import Any

from typer.core import TyperGroup

from fedkin.core.errors import FedkinError

HELP = {"--help", "-h"}
SET = "--set"  # may be given many times, each of its keys once


def everywhere(group: TyperGroup) -> None:
    """Let every command below a group, and the group, refuse an option that is given twice.

    Args:
        group: Which is changed.
    """
    group.make_parser = _counting(group)  # type: ignore[method-assign]
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            everywhere(command)
        else:
            command.make_parser = _counting(command)  # type: ignore[method-assign]


def _counting(command: Any) -> Any:
    make = command.make_parser

    @wraps(make)
    def make_parser(context: Any) -> Any:
        parser = make(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            if not context.resilient_parsing and not HELP & set(args):  # nothing is done then
                _refuse_twice(order, values)
            return values, rest, order

        parser.parse_args = parse_args
        return parser

    return make_parser


def _refuse_twice(order: Sequence[Any], values: dict[str, Any]) -> None:
    counts = Counter(id(one) for one in order)
    for one in order:
        if one.param_type_name != "option" or getattr(one, "is_flag", False):
            continue
        name = max(one.opts, key=len)
        if counts[id(one)] > 1 and not one.multiple:
            raise FedkinError(f"{name} is given twice: leave one of them out")
        if SET in one.opts:
            keys = Counter(text.partition("=")[0].strip() for text in values[one.name])
            twice = [key for key, count in keys.items() if count > 1]
            if twice:
                raise FedkinError(f"{SET} gives {twice[0]} twice: leave one of them out")
