"""The command to type next, which every command ends with: on standard error, for people."""

import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click
from typer.core import TyperGroup

from fedkin.experiment.terminal import warn

Given = Mapping[str, Any]  # a command's arguments and options, by their names
ALREADY = {  # commands that say it themselves, or that go on until they are stopped
    *("run", "resume", "init", "join", "data check", "watch"),
    *(f"deploy {name}" for name in ("superlink", "node", "run", "init", "add", "renew", "join")),
}


def everywhere(group: TyperGroup, path: str = "") -> None:
    """Let every command below a group end with the next one."""
    for name, command in group.commands.items():
        whole = f"{path} {name}".strip()
        if isinstance(command, TyperGroup):
            everywhere(command, whole)
        if command.callback is not None and whole in NEXT:
            command.callback = _ending(command.callback, NEXT[whole])


def _ending(work: Callable[..., Any], following: Callable[[Given], str]) -> Callable[..., Any]:
    @wraps(work)
    def run(*arguments: Any, **given: Any) -> Any:
        done = work(*arguments, **given)
        if not given.get("as_json") and not click.get_current_context().invoked_subcommand:
            warn(f"next: fedkin {following(given)}")
        return done

    return run


def _q(given: Given, *names: str, otherwise: str = "NAME") -> str:
    """The first of these that was given, as a shell takes it."""
    for name in names:
        value = given.get(name)
        if isinstance(value, list | tuple) and value:
            return shlex.join(map(str, value))
        if value not in (None, ()):
            return shlex.quote(str(value))
    return otherwise


def _compare(given: Given) -> str:
    runs = _q(given, "folders")
    return f"report {runs.split()[-1]}" if given.get("html") else f"compare {runs} --html page.html"


def _doctor(given: Given) -> str:
    if given.get("spec") is not None:
        return f"run {_q(given, 'spec')}"
    return f"run --data {_q(given, 'data', otherwise='digits')}"


def _methods(given: Given) -> str:
    name = _q(given, "name")
    if given.get("certificate") and given.get("name"):
        return f"run --method {name}"
    return f"methods {name} --certificate, or: fedkin run --method {name}"


def _reproduce(given: Given) -> str:
    name = given.get("name")
    return f"reproduce {name} --scale full --finished" if name else "reproduce NAME"


def _page_of_rows(given: Given) -> str:
    return f"bench page {_q(given, 'out', otherwise='bench')}/rows.jsonl"


NEXT: dict[str, Callable[[Given], str]] = {
    "show": lambda given: f"report {_q(given, 'folder')}",
    "report": lambda given: f"export {_q(given, 'folder')} --all",
    "compare": _compare,
    "audit": lambda given: f"report {_q(given, 'folder')}",
    "export": lambda given: (
        f"predict {_q(given, 'folder')} --client {_q(given, 'client')} --data FILE"
    ),
    "predict": lambda given: (
        f"export {_q(given, 'folder')} --client {_q(given, 'client')} --format pt2"
    ),
    "track": lambda given: f"show {_q(given, 'folder')}",
    "methods": _methods,
    "data": lambda given: "init PATH, or: fedkin data check PATH",
    "doctor": _doctor,
    "explain": lambda given: "explain" if given.get("code") else "explain CODE",
    "sweep": lambda given: f"compare {_q(given, 'out', otherwise='sweep')}/* --best",
    "reproduce": _reproduce,
    "bench list": lambda given: "bench run small --out bench",
    "bench run": _page_of_rows,
    "bench add": _page_of_rows,
    "bench page": lambda given: "bench verify ROW",
    "bench verify": lambda given: "bench page",
    "deploy predict": lambda given: f"deploy export {_q(given, 'folder')}",
    "deploy export": lambda given: f"deploy predict {_q(given, 'folder')} --data FILE",
}
