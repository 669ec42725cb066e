"""The command to type next, which every command ends with: on standard error, for people."""

import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click
from typer.core import TyperGroup

from fedkin.experiment.terminal import print_notice
from fedkin.report.words.typed_folders import typed_folders

Options = Mapping[str, Any]  # a command's arguments and options, by their names
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
        full_name = f"{path} {name}".strip()
        if isinstance(command, TyperGroup):
            everywhere(command, full_name)
        if command.callback is not None and full_name in NEXT:
            command.callback = _ending(command.callback, NEXT[full_name])


def _ending(command: Callable[..., Any], next_of: Callable[[Options], str]) -> Callable[..., Any]:
    @wraps(command)
    def run(*arguments: Any, **arguments_by_name: Any) -> Any:
        result = command(*arguments, **arguments_by_name)
        if (
            not arguments_by_name.get("as_json")
            and not click.get_current_context().invoked_subcommand
        ):
            print_notice(f"next: fedkin {next_of(arguments_by_name)}")
        return result

    return run


def _quoted(options: Options, *names: str, otherwise: str = "NAME") -> str:
    """The first of these that was given, as a shell takes it."""
    for name in names:
        value = options.get(name)
        if isinstance(value, list | tuple) and value:
            return shlex.join(map(str, value))
        if value not in (None, ()):
            return shlex.quote(str(value))
    return otherwise


def _option(options: Options, name: str) -> str:
    """An option as it was given, to be passed on; "" without it."""
    value = options.get(name)
    shown = name.strip("_").replace("_", "-")  # from_ is a word of Python's
    return "" if value is None else f" --{shown} {shlex.quote(str(value))}"


def _compare(options: Options) -> str:
    runs = [path for path in options["folders"] if Path(path).is_dir()]  # not a file beside them
    if options.get("html"):  # a page is made
        return f"report {shlex.quote(str(runs[-1]))}"
    best = " --best" if options.get("best") else ""
    passed_on = f"{_option(options, 'against')}{best}{_option(options, 'measure')}"
    return f"compare {typed_folders(runs)}{passed_on} --html page.html"


def _report(options: Options) -> str:
    """Models of a method that was given as a Python value are taken out from Python, and personal
    ones of a deployment at its nodes.
    """
    from fedkin.runs.database import read_only
    from fedkin.runs.directory import SHARED_MODEL, of_value

    folder = _quoted(options, "folder")
    with read_only(Path(options["folder"])) as database:
        facts = database.facts()
    deployed = bool(facts.get("deployment"))
    # an older record does not say whether there is a shared one
    if of_value(facts) or (deployed and not facts.get(SHARED_MODEL)):
        return f"show {folder} --json"
    return f"export {folder} --view global" if deployed else f"export {folder} --all"


def _model(options: Options) -> str:
    """Whose model was named, and which of its views."""
    view = options.get("view") or "personal"
    if view == "global" and options.get("client") is None and not options.get("everyone"):
        return " --view global"  # the one that all share
    return f" --client {_quoted(options, 'client')}" + (
        "" if view == "personal" else f" --view {view}"
    )


def _sweep(options: Options) -> str:
    out = _quoted(options, "out", otherwise="sweep")
    return f"compare {out}/* --best{_option(options, 'measure')}"


def _doctor(options: Options) -> str:
    """The baseline first, whatever the verdict was, unless a method was named."""
    from fedkin.setup.arguments.options import chooses_method

    spec_file = f" {_quoted(options, 'spec')}" if options.get("spec") is not None else ""
    data = "" if spec_file else f" --data {_quoted(options, 'data', otherwise='digits')}"
    passed_on = ("data", "method", "split", "clients", "measure", "data_dir")
    words = [_option(options, name) for name in passed_on if name != "data" or spec_file]
    if not (spec_file or options.get("method") or chooses_method(options.get("set_") or [])):
        words.append(" --method local")
    changes = [f" --set {shlex.quote(text)}" for text in options.get("set_") or []]
    trusted = " --trust-code" if options.get("trust_code") else ""
    return f"run{spec_file}{data}{''.join([*words, *changes])}{trusted}"


def _methods(options: Options) -> str:
    name = _quoted(options, "name")
    if name in AROUND:
        return f"run {AROUND[name]}"
    own = ":" in str(options.get("name"))  # which has no certificate
    if own and not (options.get("check") or options.get("certificate")):
        return f"methods {name} --check, or: fedkin run --method {name}"
    if own or options.get("check") or (options.get("certificate") and options.get("name")):
        return f"run --method {name}"
    return f"methods {name} --certificate, or: fedkin run --method {name}"


def _reproduce(options: Options) -> str:
    """What was only looked at is run next, and what was run is looked at."""
    name = options.get("name")
    if not name:
        return "reproduce NAME"
    paper = "" if options.get("paper") is None else f" {_quoted(options, 'paper')}"
    passed_on = "".join(_option(options, option) for option in ("scale", "rows", "seeds"))
    changes = "".join(f" --set {shlex.quote(text)}" for text in options.get("set_") or [])
    source = _option(options, "from_")
    by_default = str(options.get("out")) == "reproduction"
    out = "" if by_default else _option(options, "out")
    out += _option(options, "data_dir")
    only_looked = options.get("finished") or options.get("dry_run")
    then_look = "" if only_looked else " --finished"
    return (
        f"reproduce {_quoted(options, 'name')}{paper}{passed_on}{changes}{then_look}{source}{out}"
    )


def _page_of_rows(options: Options) -> str:
    return f"bench page {_quoted(options, 'out', otherwise='bench')}"


def _page_beside_all(options: Options) -> str:
    """A method that was added stands beside all of its suite, where fedkin has their rows."""
    from fedkin.bench.suite import committed

    suite = str(options.get("suite"))
    return f"{_page_of_rows(options)}{'' if committed(suite) is None else f' {suite}'}"


def _verify_of_rows(options: Options) -> str:
    """A row may be in any of several files."""
    files = options.get("rows") or []
    named = {0: "", 1: f" --rows {_quoted(options, 'rows')}"}
    return f"bench verify ROW{named.get(len(files), ' --rows FILE')}"


NEXT: dict[str, Callable[[Options], str]] = {
    "show": lambda options: f"report {_quoted(options, 'folder')}",
    "report": _report,
    "compare": _compare,
    "audit": lambda options: f"report {_quoted(options, 'folder')}",
    "export": lambda options: f"predict {_quoted(options, 'folder')}{_model(options)} --data FILE",
    "predict": lambda options: f"export {_quoted(options, 'folder')}{_model(options)} --format pt2",
    "track": lambda options: f"show {_quoted(options, 'folder')}",
    "methods": _methods,
    "data": lambda options: "init PATH, or: fedkin data check PATH",
    "doctor": _doctor,
    "explain": lambda options: "explain" if options.get("code") else "explain CODE",
    "sweep": _sweep,
    "reproduce": _reproduce,
    "bench list": lambda options: "bench run small --out bench",
    "bench run": _page_of_rows,
    "bench add": _page_beside_all,
    "bench page": _verify_of_rows,
    "bench verify": lambda options: f"bench page {_quoted(options, 'rows', otherwise='')}".rstrip(),
    "deploy columns": lambda options: (
        f"deploy prepare NODE --table RAW --columns {_quoted(options, 'out', otherwise='FILE')}"
    ),
    "deploy prepare": lambda options: f"deploy check {_quoted(options, 'folder')}",
    "deploy predict": lambda options: f"deploy export {_quoted(options, 'folder')}",
    "deploy export": lambda options: f"deploy predict {_quoted(options, 'folder')} --data FILE",
}
