"""``fedkin data``: what there is to choose from; ``fedkin data check``: what fedkin understands of
your own files.
"""

import shlex
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from fedkin.cli.json_output import print_json
from fedkin.cli.reading import AsJson, DataDir, as_given
from fedkin.cli.terminal import console, tell_hints
from fedkin.core.errors import many

app = typer.Typer(name="data")


@app.callback(invoke_without_command=True)
def data(context: typer.Context, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """The data sets, which of them are here, and the ways to split them over clients."""
    if context.invoked_subcommand is not None:
        return
    from fedkin.cli import lists

    found = lists.data(data_dir)
    if as_json:
        print_json(found)
    else:
        lists.show_data(console(), found)


@app.command()
def check(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A file, a folder or a data set's name.", show_default=False
        ),
    ],
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="COLUMN", help="The column that names the client."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="The column of labels.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, such as data.unlabeled=drop."),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """What is in your data: clients, samples, classes, columns, duplicates; what is left out, and
    what looks wrong.
    """
    from fedkin.cli.options import specification
    from fedkin.data.tables.findings import findings
    from fedkin.setup.population import source_of

    columns = [
        f"data.{key}={value}"
        for key, value in (("client", client), ("label", label))
        if value is not None
    ]
    settings = [*columns, *(set_ or [])]
    spec, hints = specification(None, {"data": path, "data_dir": as_given(data_dir)}, settings)
    tell_hints(hints)
    found = findings(source_of(spec))
    if as_json:
        print_json(found)
        return
    _show(console(), found)
    words = [
        "fedkin",
        "run",
        "--data",
        path,
        *(word for text in settings for word in ("--set", text)),
    ]
    if found["likely_clients"]:
        column = next(iter(found["likely_clients"]))
        _line(
            console(),
            "next",
            shlex.join(["fedkin", "data", "check", *words[3:], "--client", column]),
        )
    elif spec.split.name == "natural" or found["clients"] is None:
        _line(console(), "next", shlex.join([*words, "--method", "local"]))
    else:
        _line(console(), "next", shlex.join([*words, "--split", "natural", "--method", "local"]))


def _show(out: Console, found: dict[str, Any]) -> None:
    _line(out, "data", f"{found['name']}: {many(found['samples'], 'sample')}, {_shape(found)}")
    if found["official_test"] is not None:
        _line(out, "", f"official test samples among them: {found['official_test']:,}")
    if found["clients"] is not None:
        _line(out, "clients", _clients(found["clients"]))
    _line(out, "labels", _labels(found))
    for number, column in enumerate(found["columns"][:40]):
        _line(out, "" if number else "columns", _column(column))
    if len(found["columns"]) > 40:
        _line(out, "", f"… {len(found['columns'])} in all")
    _line(out, "same", _same(found["duplicates"]))
    for number, sentence in enumerate(found["said"] or ["nothing"]):
        _line(out, "" if number else "left out", sentence)
    for number, sentence in enumerate(found["problems"] or ["none was found"]):
        _line(out, "" if number else "problems", sentence)


def _shape(found: dict[str, Any]) -> str:
    if found["columns"]:
        return many(len(found["columns"]), "column")
    return "×".join(map(str, found["shape"])) + " numbers each"


def _clients(clients: dict[str, Any]) -> str:
    names = ", ".join(clients["first"]) + (
        ", …" if clients["count"] > len(clients["first"]) else ""
    )
    text = (
        f"{clients['count']:,} ({names}); samples {clients['smallest']:,} to {clients['largest']:,}"
    )
    text += f", median {clients['median']:g}"
    if "one_class" in clients:
        text += f"; label mix {clients['label_distance']:.0%} away from everybody's (0%: alike)"
    return text


def _labels(found: dict[str, Any]) -> str:
    if not found["classes"]:
        return "numbers (regression)"
    classes = sorted(found["classes"], key=lambda one: -one["samples"])
    shown = ", ".join(
        f"{one['name']} {one['samples'] / found['samples']:.1%}" for one in classes[:8]
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
    out.print(Text.assemble((f"{name:<10}", "bold"), text), soft_wrap=True)
