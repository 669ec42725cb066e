"""``fedkin export`` and ``fedkin predict``: personal models out of a run, and what they say of new
samples.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli.reading import Folder, TrustCode
from fedkin.core.errors import FedkinError

Client = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="NAME",
        help="A client's name or number; or one that joined.",
        show_default=False,
    ),
]


def export(
    folder: Folder,
    client: Client = None,
    everyone: Annotated[bool, typer.Option("--all", help="The models of all clients.")] = False,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="safetensors, pt2 or onnx.")
    ] = "safetensors",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="A folder for them; default: DIR/export."),
    ] = None,
    trust_code: TrustCode = False,
) -> None:
    """Write personal models as files, each with a card: what it learned from, how well it does,
    what was sent.
    """
    from fedkin.core.errors import unknown
    from fedkin.export.export import export as write
    from fedkin.export.exportable import handed
    from fedkin.export.formats import FORMATS

    if everyone == (client is not None):
        raise FedkinError("say which model: --client NAME, or --all")
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    opened = _opened(folder, trust_code)
    chosen = (
        [opened.member(k) for k in range(len(opened.names))]
        if client is None
        else [opened.member(client)]
    )
    failed: list[str] = []
    for member in chosen:
        try:
            place = (out or folder / "export") / _safe(member.name, member.number)
            tell_file(write(handed(opened, member), format, place))
        except FedkinError as error:
            failed.append(f"client {member.name}: {error}" if everyone else str(error))
    if failed:
        more = f"; and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise FedkinError(f"{failed[0]}{more}")


def predict(
    folder: Folder,
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="FILE", help="New samples, as in training.", show_default=False
        ),
    ],
    client: Client = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the table there; else it is printed."),
    ] = None,
    trust_code: TrustCode = False,
) -> None:
    """What a client's personal model says of new samples: a CSV with the label and the probability
    of each class.
    """
    from fedkin.export.exportable import handed
    from fedkin.export.predict import predict as ask

    if client is None:
        raise FedkinError("say whose model: --client NAME")
    opened = _opened(folder, trust_code)
    tell_table(*ask(handed(opened, opened.member(client)), data), out)


def tell_file(written: "Written") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Where a model was written, and how near it is to the one that was trained."""
    checked = "" if written.apart is None else f"   (within {written.apart:.1g} of the run's model)"
    print(f"{written.file}{checked}")


def tell_table(frame: "DataFrame", said: Sequence[str], out: Path | None) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Predictions as CSV, what is worth saying on stderr."""
    for sentence in said:
        print(f"note: {sentence}", file=sys.stderr)
    text = frame.to_csv(index=False, float_format="%.6g")
    if out is None:
        print(text, end="")
        return
    from fedkin.runs.outside import write_outside

    print(write_outside(out, text))


def _opened(folder: Path, trust_code: bool) -> "Opened":  # type: ignore[name-defined]  # noqa: F821
    find_own_code()
    from fedkin.export.opened import Opened

    opened = Opened(folder, trust_code=trust_code)
    if opened.unfinished:
        print(f"note: {opened.unfinished}", file=sys.stderr)
    return opened


def find_own_code() -> None:
    """A model of one's own is found from the folder of the command too, last: no file there stands
    in for a library.
    """
    import os

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _safe(name: str, number: int | None) -> str:
    """A client's name as a folder's, with its number where letters had to go."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("._")
    return (
        plain if plain == name else f"{plain}-{'joined' if number is None else number}".lstrip("-")
    )
