"""``fedkin data``: what there is to choose from; ``fedkin data check``: what fedkin understands of
your own files.
"""

import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from fedkin.cli.options import AsJson, DataDir, path_as_text
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError, many, percent
from fedkin.experiment.terminal import console, quiet, tell_hints

if TYPE_CHECKING:
    from fedkin.runs.spec import Spec

app = typer.Typer(name="data")
UNREADABLE = 1  # exit status: a run would refuse the data as they stand


@app.callback(invoke_without_command=True)
def data(context: typer.Context, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List data sets, the files found for them, and client partitions."""
    if context.invoked_subcommand is not None:
        return
    from fedkin.cli.listing import lists

    listing = lists.data(data_dir)
    if as_json:
        print_json(listing)
    else:
        lists.show_data(console(), listing)


@app.command()
def check(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="File, folder, data set or experiment file.",
            show_default=False,
        ),
    ],
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="COLUMN", help="Column of client names."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Column of labels.")
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(
            "--fix",
            metavar="FILE",
            help="Write an experiment file with all possible fixes; must be new.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set any key, e.g. data.unlabeled=drop."),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check your own data: columns, clients, leaks, missing values; each fault with its fix."""
    from fedkin.data.quality.clients import SMALL_CLIENT
    from fedkin.doctor.data_checks import check_data
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.runtime.progress import progress_to
    from fedkin.setup.arguments.options import setting, specification

    columns = [
        f"data.{key}={value}"
        for key, value in (("client", client), ("label", label))
        if value is not None
    ]
    file = Path(path) if path.endswith(".toml") else None
    options = {
        "data": None if file else path,
        "data_dir": path_as_text(data_dir),
        **dict(map(setting, columns)),
    }
    spec, hints = specification(file, options, set_ or [])
    tell_hints(hints)
    with progress_to(ThrottledLines()):
        try:
            result, _, faults = check_data(spec)
        except FedkinError as error:
            error.args = (_with_options(str(error)),)
            raise
    typed = [path, *(word for text in (*columns, *(set_ or [])) for word in ("--set", text))]
    if fix is not None:
        again = shlex.join(["fedkin", "data", "check", *typed, "--fix", str(fix)])
        _write(fix, Path(path), spec, result, again)
    if as_json:
        print_json(result)
    else:
        _show(console(), result)
        if fix is not None:
            _line(console(), "fixed", str(fix))
        _line(console(), "next", shlex.join(_next(path, typed, spec, result, fix)))
    small = [problem for problem in result["problems"] if problem["kind"] == SMALL_CLIENT]
    if faults or any(not one["fix"] or spec.split.empty != "drop" for one in small):
        raise typer.Exit(UNREADABLE)


def _with_options(sentence: str) -> str:
    """A sentence of fedkin.data that advises a key for which this command has an option."""
    for key in ("label", "client"):
        sentence = sentence.replace(f"--set data.{key}=", f"--{key} ")
    return sentence


def _next(
    path: str, typed: list[str], spec: "Spec", result: dict[str, Any], fix: Path | None
) -> list[str]:
    """The command to type next, word by word: the surest mend first, then a run."""
    again = ["fedkin", "data", "check", *typed]
    alone = ["--method", "local"]
    if fix is not None:
        return ["fedkin", "run", str(fix), *alone]
    if result["likely_clients"] and not path.endswith(".toml"):
        return [*again, "--client", next(iter(result["likely_clients"]))]
    if any(problem["fix"] for problem in result["problems"]):
        return [*again, "--fix", "fixed.toml"]
    start = [path] if path.endswith(".toml") else ["--data", *typed]
    unsaid = result["clients"] is not None and spec.split.name != "natural"
    return ["fedkin", "run", *start, *(["--split", "natural"] if unsaid else []), *alone]


def _write(fix: Path, read: Path, spec: "Spec", result: dict[str, Any], command: str) -> None:
    """The specification with all fixes, which must be one that can be read, and no file that was
    read.
    """
    from fedkin.doctor.fixed_spec import fixed_spec
    from fedkin.runs.output_files import EXPERIMENTS, write_outside
    from fedkin.runs.spec import parse

    names = [column["name"] for column in result["columns"]]
    text = fixed_spec(spec, result["problems"], command, columns=names)
    parse(tomllib.loads(text), text, str(fix))
    if fix.is_file() and fix != read and fix.read_bytes() != text.encode():
        raise FedkinError(f"{fix} is there already: choose another name with --fix")
    write_outside(fix, text, EXPERIMENTS, [read])


def _show(out: Console, result: dict[str, Any]) -> None:
    _line(out, "data", f"{result['name']}: {many(result['samples'], 'sample')}, {_shape(result)}")
    if result["official_test"] is not None:
        _line(out, "", f"official test samples among them: {result['official_test']:,}")
    if result["clients"] is not None:
        _line(out, "clients", _clients(result["clients"]))
    _line(out, "labels", _labels(result))
    for number, column in enumerate(result["columns"][:40]):
        _line(out, "" if number else "columns", _column(column))
    if len(result["columns"]) > 40:
        _line(out, "", f"… {len(result['columns'])} in all")
    _line(out, "same", _same(result["duplicates"]))
    for number, sentence in enumerate(result["said"] or ["nothing"]):
        _line(out, "" if number else "left out", sentence)
    for number, problem in enumerate(result["problems"]):
        _line(
            out,
            "" if number else "problems",
            f"{'' if problem['sure'] else 'perhaps: '}{problem['sentence']}",
        )
    if not result["problems"]:
        _line(out, "problems", "none was found")


def _shape(result: dict[str, Any]) -> str:
    if result["columns"]:
        return many(len(result["columns"]), "column")
    return "×".join(map(str, result["shape"])) + " numbers each"


def _clients(clients: dict[str, Any]) -> str:
    names = ", ".join(clients["first"]) + (
        ", …" if clients["count"] > len(clients["first"]) else ""
    )
    text = f"{clients['count']:,} ({names}); samples {clients['smallest']:,}"
    if clients["smallest"] < clients["largest"]:
        text += f" to {clients['largest']:,}, median {clients['median']:g}"
    elif clients["count"] > 1:
        text += " each"
    if "one_class" in clients:
        apart = percent(clients["label_distance"], 0)
        text += f"; label mix {apart} away from everybody's (0 %: alike)"
    return text


def _labels(result: dict[str, Any]) -> str:
    if not result["classes"]:
        return "numbers (regression)"
    classes = sorted(result["classes"], key=lambda one: -one["samples"])
    shown = ", ".join(
        f"{one['name']} {percent(one['samples'] / result['samples'])}" for one in classes[:8]
    )
    return f"{many(len(classes), 'class', 'classes')}: {shown}{', …' if len(classes) > 8 else ''}"


def _column(column: dict[str, Any]) -> str:
    what = f"{column['name']}: {column['kind']}"
    if "values" in column:
        what += f", {many(column['values'], 'value')}"
    if "least" in column:
        what += f" from {column['least']:g} to {column['most']:g}"
    return what + (f", missing in {many(column['missing'], 'row')}" if column["missing"] else "")


def _same(twice: dict[str, int]) -> str:
    words = {
        "within_clients": "within a client",
        "across_clients": "across clients",
        "test_in_train": "in train and test",
    }
    parts = [f"{twice[key]:,} {text}" for key, text in words.items() if key in twice] or [
        f"{twice['all']:,}"
    ]
    return f"repeated samples: {', '.join(parts)}"


def _line(out: Console, name: str, text: str) -> None:
    if name == "next" and quiet():
        return
    out.print(Text.assemble((f"{name:<10}", "bold"), text), soft_wrap=True)
