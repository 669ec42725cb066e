"""Arguments and options that several commands take, each declared once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli import completion
from fedkin.core.errors import FedkinError

AsJson = Annotated[bool, typer.Option("--json", help="Print plain JSON.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Run directory.", show_default=False)]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help=r"Data directory \[env: FEDKIN_DATA]."),
]
SpecFile = Annotated[
    Path | None, typer.Argument(metavar="SPEC.toml", help="Experiment file.", show_default=False)
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set any key: --set train.lr=0.05. Repeatable."
    ),
]
DataAsInRun = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="NAME",
        help="Data set or file, as in fedkin run.",
        autocompletion=completion.data_names,
    ),
]
MethodAsInRun = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="As in fedkin run.",
        autocompletion=completion.method_names,
    ),
]
SplitAsInRun = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="NAME",
        help="As in fedkin run.",
        autocompletion=completion.partition_names,
    ),
]
ClientsAsInRun = Annotated[
    int | None, typer.Option("--clients", metavar="N", help="As in fedkin run.")
]
RoundsOfNewcomer = Annotated[
    int | None,
    typer.Option(
        "--rounds", metavar="N", min=0, help="Local rounds; default: chosen by validation data."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="P",
        help="Of two classes: least probability of the second, 0 to 1, or own (the client's).",
        show_default=False,
    ),
]
TrustCode = Annotated[
    bool,
    typer.Option(
        "--trust-code",
        help="Import code named in the file or run (package.module:name). Remembered.",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        "--figures",
        metavar="DIR",
        help="Write the charts to a folder, as SVG, PNG and PDF.",
    ),
]


def path_as_text(path: Path | None) -> str | None:
    """A path as a specification has it.

    Args:
        path: As it was typed; None: it was not.

    Returns:
        A text, or None.
    """
    return None if path is None else str(path)


def check_distinct_outputs(files: Mapping[str, Path | None]) -> None:
    """Two options that write a file each do not name the same one.

    Args:
        files: {option: the path that was typed}; None: it was not.

    Raises:
        FedkinError: They do.
    """
    named: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = named.setdefault(path.resolve(), option)
        if other != option:
            raise FedkinError(f"{other} and {option} both name {path}: give each a file of its own")
