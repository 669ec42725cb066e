"""The command to type next, which every command ends with: on standard error, for people."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click
from typer.core import TyperGroup

from fedkin.experiment.terminal import warn

Given = Mapping[str, Any]  # a command's arguments and options, by their names
FEW = 3  # folders that are shorter to name than a pattern is to understand
NOISE = "--set privacy.clip=1.0 --set privacy.noise=1.0 --set privacy.delta=1e-3"
LABELED = "--set public.source=held-out --set public.labeled=true"
AROUND = {  # what stands around a method and has a certificate → what a run with it says at least
    **{name: f"--transform {name}" for name in ("bfloat16", "geometric_median", "median")},
    **{name: f"--transform {name}" for name in ("quantize", "trimmed_mean")},
    "attack": "--transform attack:kind=sign_flip",
    "krum": "--transform krum:attackers=1",
    "norm_bound": "--transform norm_bound:bound=1.0",
    "random_k": "--transform random_k:share=0.1",
    "top_k": "--transform top_k:share=0.1",
    "trust": f"--method fedavg --transform trust:lr=0.1 {LABELED}",
    "client_noise": NOISE,
    "prediction_noise": f"--method kt_pfl --set privacy.where=client {NOISE}",
    "votes": f"--method kt_pfl {NOISE}",
    "sample_noise": f"--set privacy.unit=sample {NOISE}",
    "masks": "--set privacy.secure_aggregation=true",
}


def everywhere(group: TyperGroup, path: str = "") -> None:
    """Let every command below a group end with the next one.

    Args:
        group: Which is changed.
        path: The commands above it, with blanks between.
    """
    for name, command in group.commands.items():
        whole = f"{path} {name}".strip()
        if isinstance(command, TyperGroup):
            everywhere(command, whole)
        if command.callback is not None and whole in NEXT:
            command.callback = _ending(command.callback, NEXT[whole])


def _ending(work: Callable[..., Any], following: Callable[[Given], str]) -> Callable[..., Any]:
    @wraps(work)
    def run(*arguments: Any, **arguments_by_name: Any) -> Any:
        done = work(*arguments, **arguments_by_name)
        if (
            not arguments_by_name.get("as_json")
            and not click.get_current_context().invoked_subcommand
        ):
            warn(f"next: fedkin {following(arguments_by_name)}")
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


def _option(given: Given, name: str) -> str:
    """An option as it was given, to be passed on; "" without it."""
    value = given.get(name)
    shown = name.strip("_").replace("_", "-")  # from_ is a word of Python's
    return "" if value is None else f" --{shown} {shlex.quote(str(value))}"


def _compare(given: Given) -> str:
    if given.get("html"):  # a page is made: of the files beside runs there is no report
        runs = [path for path in given["folders"] if Path(path).is_dir()]
        return f"report {shlex.quote(str(runs[-1]))}"
    best = " --best" if given.get("best") else ""
    asked = f"{_option(given, 'against')}{best}{_option(given, 'measure')}"
    return f"compare {_folders(given['folders'])}{asked} --html page.html"


def _folders(given: Sequence[Path]) -> str:
    """Run directories as they are typed: ``runs/*`` where that names the same ones."""
    folders = [Path(one) for one in given]
    parent = folders[0].parent
    there = sorted(path for path in parent.glob("*") if path.is_dir() and path.name[0] != ".")
    if len(folders) < FEW or folders != there:
        return shlex.join(map(str, folders))
    return "*" if parent == Path() else f"{shlex.quote(str(parent))}/*"


def _report(given: Given) -> str:
    """Models of a method that was given as a Python value are taken out from Python, and personal
    ones of a deployment at its nodes.
    """
    from fedkin.runs.database import read_only
    from fedkin.runs.directory import SHARED_MODEL, of_value

    folder = _q(given, "folder")
    with read_only(Path(given["folder"])) as database:
        facts = database.facts()
    deployed = bool(facts.get("deployment"))
    # an older record does not say whether there is a shared one
    if of_value(facts) or (deployed and not facts.get(SHARED_MODEL)):
        return f"show {folder} --json"
    return f"export {folder} --view global" if deployed else f"export {folder} --all"


def _model(given: Given) -> str:
    """Whose model was named, and which of its views."""
    view = given.get("view") or "personal"
    if view == "global" and given.get("client") is None and not given.get("everyone"):
        return " --view global"  # the one that all share
    return f" --client {_q(given, 'client')}" + ("" if view == "personal" else f" --view {view}")


def _sweep(given: Given) -> str:
    out = _q(given, "out", otherwise="sweep")
    return f"compare {out}/* --best{_option(given, 'measure')}"


def _doctor(given: Given) -> str:
    """The baseline first, whatever the verdict was, unless a method was named."""
    from fedkin.setup.arguments.options import chooses_method

    named = f" {_q(given, 'spec')}" if given.get("spec") is not None else ""
    data = "" if named else f" --data {_q(given, 'data', otherwise='digits')}"
    passed = ("data", "method", "split", "clients", "measure", "data_dir")
    options = [_option(given, name) for name in passed if name != "data" or named]
    if not (named or given.get("method") or chooses_method(given.get("set_") or [])):
        options.append(" --method local")
    changes = [f" --set {shlex.quote(one)}" for one in given.get("set_") or []]
    trusted = " --trust-code" if given.get("trust_code") else ""
    return f"run{named}{data}{''.join([*options, *changes])}{trusted}"


def _methods(given: Given) -> str:
    name = _q(given, "name")
    if name in AROUND:
        return f"run {AROUND[name]}"
    own = ":" in str(given.get("name"))  # which has no certificate
    if own and not (given.get("check") or given.get("certificate")):
        return f"methods {name} --check, or: fedkin run --method {name}"
    if own or given.get("check") or (given.get("certificate") and given.get("name")):
        return f"run --method {name}"
    return f"methods {name} --certificate, or: fedkin run --method {name}"


def _reproduce(given: Given) -> str:
    """What was only looked at is run next, and what was run is looked at."""
    name = given.get("name")
    if not name:
        return "reproduce NAME"
    paper = "" if given.get("paper") is None else f" {_q(given, 'paper')}"
    asked = "".join(_option(given, option) for option in ("scale", "rows", "seeds"))
    changes = "".join(f" --set {shlex.quote(each)}" for each in given.get("set_") or [])
    taken = _option(given, "from_")
    out = "" if str(given.get("out")) == "reproduction" else _option(given, "out")  # its default
    out += _option(given, "data_dir")
    looked = given.get("finished") or given.get("dry_run")
    shown = "" if looked else " --finished"
    return f"reproduce {_q(given, 'name')}{paper}{asked}{changes}{shown}{taken}{out}"


def _page_of_rows(given: Given) -> str:
    return f"bench page {_q(given, 'out', otherwise='bench')}"


def _page_beside_all(given: Given) -> str:
    """A method that was added stands beside all of its suite, where fedkin has their rows."""
    from fedkin.bench.suite import committed

    suite = str(given.get("suite"))
    return f"{_page_of_rows(given)}{'' if committed(suite) is None else f' {suite}'}"


def _verify_of_rows(given: Given) -> str:
    """A row may be in any of several files."""
    files = given.get("rows") or []
    named = {0: "", 1: f" --rows {_q(given, 'rows')}"}
    return f"bench verify ROW{named.get(len(files), ' --rows FILE')}"


NEXT: dict[str, Callable[[Given], str]] = {
    "show": lambda given: f"report {_q(given, 'folder')}",
    "report": _report,
    "compare": _compare,
    "audit": lambda given: f"report {_q(given, 'folder')}",
    "export": lambda given: f"predict {_q(given, 'folder')}{_model(given)} --data FILE",
    "predict": lambda given: f"export {_q(given, 'folder')}{_model(given)} --format pt2",
    "track": lambda given: f"show {_q(given, 'folder')}",
    "methods": _methods,
    "data": lambda given: "init PATH, or: fedkin data check PATH",
    "doctor": _doctor,
    "explain": lambda given: "explain" if given.get("code") else "explain CODE",
    "sweep": _sweep,
    "reproduce": _reproduce,
    "bench list": lambda given: "bench run small --out bench",
    "bench run": _page_of_rows,
    "bench add": _page_beside_all,
    "bench page": _verify_of_rows,
    "bench verify": lambda given: f"bench page {_q(given, 'rows', otherwise='')}".rstrip(),
    "deploy predict": lambda given: f"deploy export {_q(given, 'folder')}",
    "deploy export": lambda given: f"deploy predict {_q(given, 'folder')} --data FILE",
}
