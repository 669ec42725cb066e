"""Reference pages of the command line, from its parser."""

from typing import Any

import typer.main

from fedkin.cli.app import app
from website.markdown import table


def pages() -> dict[str, str]:
    """A page a command, by the place in the site; groups have their commands on one page."""
    root: Any = typer.main.get_command(app)
    found = {"reference/cli/index.md": _overview(root)}
    for name, command in sorted(root.commands.items()):
        found[f"reference/cli/{name}.md"] = "\n".join(_lines(command, f"fedkin {name}", "#"))
    return found


def paths() -> dict[str, Any]:
    """Every command by what is typed, such as ``fedkin data check``."""
    found: dict[str, Any] = {}

    def walk(command: Any, typed: str) -> None:
        found[typed] = command
        for name, one in sorted(getattr(command, "commands", {}).items()):
            walk(one, f"{typed} {name}")

    walk(typer.main.get_command(app), "fedkin")
    return found


def _overview(root: Any) -> str:
    lines = ["# Command line", "", _help(root), ""]
    rows = [
        [f"[`{typed}`]({typed.split()[1]}.md#{typed.replace(' ', '-')})", _first(command)]
        for typed, command in paths().items()
        if typed != "fedkin"
    ]
    lines += ["Every page of this section is written from the parser itself.", ""]
    return "\n".join([*lines, *table(["command", "what it does"], rows), ""])


def _lines(command: Any, typed: str, level: str) -> list[str]:
    lines = [f"{level} {typed}", "", _help(command), ""]
    given = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    subcommands = getattr(command, "commands", {})
    shape = [
        typed,
        *(_metavar(one) if one.required else f"[{_metavar(one)}]" for one in given),
        *(["[OPTIONS]"] if options else []),
        *(["COMMAND"] if subcommands else []),
    ]
    lines += ["```text", " ".join(shape), "```", ""]
    if given:
        rows = [[f"`{_metavar(one)}`", _said(one)] for one in given]
        lines += [*table(["argument", "meaning"], rows), ""]
    if options:
        rows = [[_names(one), _said(one)] for one in options]
        lines += [*table(["option", "meaning"], rows), ""]
    for name, one in sorted(subcommands.items()):
        lines += _lines(one, f"{typed} {name}", level + "#")
    return lines


def _help(command: Any) -> str:
    return " ".join((command.help or "").split())


def _first(command: Any) -> str:
    return _help(command).split(". ")[0].rstrip(".") + "."


def _metavar(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _names(one: Any) -> str:
    value = "" if one.is_flag else f" {one.metavar or one.type.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in [*one.opts, *one.secondary_opts])


def _said(one: Any) -> str:
    several = " Repeatable." if one.multiple and "epeatable" not in (one.help or "") else ""
    plain = (
        one.default not in (None, [], ())
        and not callable(one.default)
        and not getattr(one, "is_flag", False)
    )
    default = f" Default: `{one.default}`." if plain else " Required." if one.required else ""
    return (one.help or "").strip() + several + default
