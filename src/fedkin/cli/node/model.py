"""``fedkin deploy export`` and ``predict``: a node's own model, on the node."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli.node.data import Decimal, Encoding, Node, Separator, Times, style_of
from fedkin.cli.options import AsJson, Threshold
from fedkin.core.errors import FedkinError

if TYPE_CHECKING:
    from fedkin.export.exportable import Exportable

KeptRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="ID",
        help="Run folder in state, or its first letters; default: the last run.",
    ),
]


def export(
    folder: Node,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="safetensors, pt2 or onnx.")
    ] = "safetensors",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder; default: NODE/export."),
    ] = None,
    run: KeptRun = None,
    as_json: AsJson = False,
) -> None:
    """On a node: export its personal model, with a card."""
    from fedkin.cli.export import tell_written
    from fedkin.export.export import export as write
    from fedkin.export.formats import check_format

    check_format(format)  # before the run is read
    tell_written(write(_handed(folder, run), format, out or folder / "export"), as_json)


def predict(
    folder: Node,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="FILE",
            help="New samples, in the form of the node's data; with --columns raw ones.",
            show_default=False,
        ),
    ],
    columns: Annotated[
        Path | None,
        typer.Option(
            "--columns",
            metavar="FILE",
            help="File of columns that the node's data were prepared with.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Output file; default: stdout."),
    ] = None,
    threshold: Threshold = None,
    run: KeptRun = None,
    times: Times = None,
    separator: Separator = ",",
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """On a node: predict new samples; a CSV with a probability for each class."""
    from fedkin.cli.export import print_predictions
    from fedkin.cli.talk.prepared import factors
    from fedkin.data.tables.new_rows import LacksColumn
    from fedkin.export.predict import predict as ask
    from fedkin.flower.table.new_rows import predict_raw

    style = style_of(separator, decimal, encoding)
    if columns is None and (times or style != style_of(",", ".", "utf-8")):
        raise FedkinError(
            "--times, --separator, --decimal and --encoding are of raw rows: give --columns, too"
        )
    model = _handed(folder, run)
    if columns is None:
        try:
            answers = ask(model, data, threshold=threshold)
        except LacksColumn as error:  # as a table that ``prepare`` has not read
            raise error.reworded(f"{error}; of raw rows, give --columns, too") from error
    else:
        answers = predict_raw(model, data, columns, style, factors(times or []), threshold)
    print_predictions(*answers, [data, Path(model.data.name)], out, as_json)


def _handed(folder: Path, run: str | None) -> "Exportable":
    from fedkin.core.system.user_code import find_user_code
    from fedkin.flower.node.model import exportable

    find_user_code()
    return exportable(folder, run)
