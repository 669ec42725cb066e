"""``fedkin deploy columns``, ``prepare`` and ``check``: on a node, before any server asks."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli.options import AsJson
from fedkin.cli.talk.flower_extra import need_extra
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import note, say, say_all

if TYPE_CHECKING:
    from fedkin.data.formats.frames import Style

Node = Annotated[Path, typer.Argument(metavar="DIR", help="Node folder.", show_default=False)]
Separator = Annotated[
    str, typer.Option("--separator", metavar="MARK", help="Between cells of a CSV; tab for a tab.")
]
Decimal = Annotated[
    str, typer.Option("--decimal", metavar="MARK", help="Before the fraction in a CSV.")
]
Times = Annotated[
    list[str] | None,
    typer.Option(
        "--times",
        metavar="COLUMN=NUMBER",
        help="Multiply a raw column that has another unit here; may be repeated.",
    ),
]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="Of a CSV's bytes.")]


def columns(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Raw table to look at.", show_default=False)
    ],
    label: Annotated[
        str,
        typer.Option("--label", metavar="COLUMN", help="Column to predict.", show_default=False),
    ],
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Rows of one value of it, such as a patient's, go into one part.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Output file; default: stdout."),
    ] = None,
    separator: Separator = ",",
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
) -> None:
    """Draft the file of columns that all nodes prepare their tables by, from a table of one's
    own.
    """
    from fedkin.flower.table.draft import draft
    from fedkin.runs.output_files import write_outside

    if out is not None and os.path.lexists(out):
        raise FedkinError(f"{out} is there already: choose another name with --out")
    style = style_of(separator, decimal, encoding)
    name = "columns.toml" if out is None else out.name
    made = draft(table, label, group, style, name)
    for column, why in made.left_out.items():
        note(f"column {column!r} is left out: {why}")
    if out is None:
        say_all(made.text)
        return
    write_outside(out, made.text)
    say(f"{out} says what all nodes do; look through it, and carry it to every node")


def prepare(
    folder: Node,
    table: Annotated[
        Path,
        typer.Option("--table", metavar="FILE", help="Raw table of this node.", show_default=False),
    ],
    columns: Annotated[
        Path,
        typer.Option(
            "--columns",
            metavar="FILE",
            help="File of columns, the same on all nodes.",
            show_default=False,
        ),
    ],
    times: Times = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write a file anew that is there; parts are redrawn.")
    ] = False,
    separator: Separator = ",",
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """On a node: make its file of a raw table, by the file of columns that all nodes have."""
    from fedkin.cli.talk.prepared import factors, print_prepared
    from fedkin.flower.table.prepare import prepare as make

    style = style_of(separator, decimal, encoding)
    print_prepared(make(folder, table, columns, style, factors(times or []), replace), as_json)


def check(folder: Node, as_json: AsJson = False) -> None:
    """On a node: read its data by the node's own rules, and say what a run would have of them."""
    need_extra()
    from fedkin.cli.talk.node_data import print_check
    from fedkin.core.system.user_code import find_user_code
    from fedkin.flower.node.checked import checked

    find_user_code()
    print_check(checked(folder), as_json)


def style_of(separator: str, decimal: str, encoding: str) -> "Style":
    """How a raw CSV is written.

    Args:
        separator: Between cells.
        decimal: Before the fraction.
        encoding: Of its bytes.

    Returns:
        For the reader of tables.
    """
    from fedkin.data.formats.frames import Style

    return Style(separator=separator, decimal=decimal, encoding=encoding)
