"""The manual page ``fedkin.1``, from the parser of the command line."""

from typing import Any

import fedkin
from website.commands import paths

EXITS = {
    "0": "Done.",
    "1": "The answer is no, such as of data check; with a traceback it is a defect of fedkin.",
    "2": "Usage error: a wrong option, file or table, printed in one line on standard error.",
    "130": "Stopped with Ctrl-C.",
}
VARIABLES = {
    "FEDKIN_DATA": "The folder of data sets, where --data-dir and data.dir do not name one.",
    "XDG_CACHE_HOME": "Where compiled steps and lists are kept; else ~/.cache.",
    "NO_COLOR": "Set to anything: no colours.",
    "COLUMNS": "The width of tables where there is no terminal.",
}


def page() -> str:
    """The page in the language of man(7)."""
    every = paths()
    root = every.pop("fedkin")
    lines = [
        f'.TH FEDKIN 1 "" "fedkin {fedkin.__version__}" "User Commands"',
        *(".SH NAME", r"fedkin \- personalized federated learning"),
        *(".SH SYNOPSIS", ".B fedkin", ".I COMMAND", "[OPTIONS]"),
        *(".SH DESCRIPTION", _help(root.help)),
        ".SH COMMANDS",
    ]
    for typed, command in every.items():
        lines += [f".SS {_text(typed)}", _help(command.help)]
        for one in command.params:
            lines += [".TP", f".B {_text(_names(one))}", _help(one.help)]
    lines += [".SH EXIT STATUS", *_tagged(EXITS), ".SH ENVIRONMENT", *_tagged(VARIABLES)]
    return "\n".join(lines) + "\n"


def _tagged(found: dict[str, str]) -> list[str]:
    return [line for name, said in found.items() for line in (".TP", f".B {name}", _text(said))]


def _names(one: Any) -> str:
    if one.param_type_name == "argument":
        return str(one.metavar or one.name.upper())
    value = "" if one.is_flag else f" {one.metavar or one.type.name.upper()}"
    return ", ".join(one.opts) + value


def _help(text: str | None) -> str:
    """A help text, whose brackets are escaped for the terminal."""
    return _text((text or "").replace(r"\[", "["))


def _text(text: str | None) -> str:
    """Text on one line, in which no character commands the formatter."""
    plain = " ".join((text or "").split()).replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + plain if plain.startswith((".", "'")) else plain
