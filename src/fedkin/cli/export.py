"""``fedkin export`` and ``fedkin predict``: personal models out of a run, and what they say of new
samples.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedkin.cli.options import AsJson, Folder, Threshold, TrustCode
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import find_user_code
from fedkin.experiment.terminal import note, say, say_all

if TYPE_CHECKING:
    from pandas import DataFrame

    from fedkin.export.export import Written
    from fedkin.export.exportable import Exportable
    from fedkin.export.opened_run import Member, Opened

Client = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="NAME",
        help="Name or number of a client, also of one that joined.",
        show_default=False,
    ),
]

View = Annotated[
    str,
    typer.Option(
        "--view",
        metavar="VIEW",
        help="Model of the client: personal, global, …; without --client: global.",
    ),
]


def export(
    folder: Folder,
    client: Client = None,
    everyone: Annotated[bool, typer.Option("--all", help="Export all clients.")] = False,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="safetensors, pt2 or onnx.")
    ] = "safetensors",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder; default: DIR/export."),
    ] = None,
    view: View = "personal",
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Export personal models, or with --view global alone the shared one; each with a card."""
    from fedkin.export.export import export as write
    from fedkin.export.exportable import exportable
    from fedkin.export.formats import check_format
    from fedkin.export.output_paths import place_of, place_of_shared

    check_format(format)  # before the run is read
    if client is None and not everyone and view == "global":
        place = place_of_shared(folder, out, format, view)
        tell_written(write(_shared(folder, trust_code), format, place), as_json)
        return
    if everyone == (client is not None):
        raise FedkinError("say which model: --client NAME, --all, or --view global")
    opened = _opened(folder, trust_code, client)
    chosen = (
        [opened.member(k) for k in range(len(opened.names))]
        if client is None
        else [opened.member(client)]
    )
    failed: list[tuple[str, FedkinError]] = []
    written: list[dict[str, Any]] = []
    for member in _shown_when_slow(chosen):
        try:
            model = exportable(opened, member, view)
            done = write(model, format, place_of(folder, out, member, format, view))
            written.append(_plain(done))
            if not as_json:
                print_exported(done)
        except FedkinError as error:
            failed.append((f"client {member.name}: {error}" if everyone else str(error), error))
    if as_json:
        print_json({"written": written, "failed": [sentence for sentence, _ in failed]})
    if failed:
        raise _all_of(failed)


def _all_of(failed: "Sequence[tuple[str, FedkinError]]") -> FedkinError:
    """What the first of several says, and how many there are beyond it; of the first one's code."""
    sentence, first = failed[0]
    more = f"; and {len(failed) - 1} more" if len(failed) > 1 else ""
    return first.reworded(f"{sentence}{more}")


def _shown_when_slow(members: "Sequence[Member]") -> "Iterator[Member]":
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.runtime.progress import progress_to, tracked

    with progress_to(ThrottledLines()):
        yield from tracked("exporting models", members)


def predict(
    folder: Folder,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="FILE",
            help="New samples, in the form of the training data.",
            show_default=False,
        ),
    ],
    client: Client = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Output file; default: stdout."),
    ] = None,
    view: View = "personal",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COLUMN", help="Column of the table to write first. Repeatable."
        ),
    ] = None,
    threshold: Threshold = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Predict new samples with a personal model, or the shared one (--view global alone).

    Writes a CSV of labels and probabilities."""
    from fedkin.export.exportable import exportable
    from fedkin.export.predict import predict as ask
    from fedkin.export.shared import SHARED

    if client is None and view == SHARED:
        model = _shared(folder, trust_code)
    elif client is None:
        raise FedkinError("say whose model: --client NAME, or --view global for the shared one")
    else:
        opened = _opened(folder, trust_code, client)
        model = exportable(opened, opened.member(client), view)
    answers = ask(model, data, keep=keep or (), threshold=threshold)
    print_predictions(*answers, [data, Path(model.data.name)], out, as_json)


def print_predictions(
    frame: "DataFrame",
    remarks: Sequence[str],
    read: Sequence[Path],
    out: Path | None,
    as_json: bool,
) -> None:
    """What a model says of new samples, as a table or as JSON.

    Args:
        frame: A row a sample.
        remarks: Sentences, printed below the table.
        read: The file of the samples, and what the run was trained on: they are never replaced.
        out: A file for the table; None: standard output.
        as_json: As JSON.

    Raises:
        FedkinError: ``out`` cannot be written, or was read.
    """
    if as_json:
        records = frame.to_dict("records")
        thresholds = {name: frame.attrs.get(name) for name in ("threshold", "own_threshold")}
        print_json({"predictions": records, "said": list(remarks), **thresholds})
    if not as_json or out is not None:
        tell_table(frame, remarks, read, out, quiet=as_json)


def tell_written(done: "Written", as_json: bool) -> None:
    """One model that was written, as a line or as JSON.

    Args:
        done: The model.
        as_json: As JSON.
    """
    if as_json:
        print_json({"written": [_plain(done)], "failed": []})
    else:
        print_exported(done)


def _plain(done: "Written") -> dict[str, Any]:
    return done._asdict() | {"file": str(done.file)}


def print_exported(written: "Written") -> None:
    """Where a model was written, and how near it is to the one that was trained.

    Args:
        written: The model.
    """
    checked = "" if written.apart is None else f"   (within {written.apart:.1g} of the run's model)"
    say(f"{written.file}{checked}")


def as_csv(frame: "DataFrame") -> str:
    """A table as CSV: no label and no name is a formula for the spreadsheet that opens it.

    Args:
        frame: Any table.

    Returns:
        CSV with a head line; numbers of six figures.
    """
    from fedkin.core.escaping import cell

    whole = frame.rename(columns=lambda name: cell(str(name)))
    for name in whole.columns:
        if whole[name].dtype.kind == "O":  # text, however pandas keeps it
            whole[name] = [cell(one) if isinstance(one, str) else one for one in whole[name]]
    text: str = whole.to_csv(index=False, float_format="%.6g")
    return text


def tell_table(
    frame: "DataFrame",
    remarks: Sequence[str],
    read: Sequence[Path],
    out: Path | None,
    quiet: bool = False,
) -> None:
    """Predictions as CSV, what is worth saying on standard error.

    Args:
        frame: A row a sample.
        remarks: Sentences, printed below the table.
        read: The file of the samples, and what the run was trained on: they are never replaced.
        out: A file for the table; None: standard output.
        quiet: Whether the file is not named on standard output.

    Raises:
        FedkinError: ``out`` cannot be written, or was read.
    """
    for sentence in remarks:
        note(sentence)
    text = as_csv(frame)
    if out is None:
        say_all(text)
        return
    from fedkin.runs.output_files import TABLES, write_outside

    written = write_outside(out, text, TABLES, read)
    if not quiet:
        say(written)


def _shared(folder: Path, trust_code: bool) -> "Exportable":
    """The model that all clients of a run share, of a deployment's run too."""
    find_user_code()
    from fedkin.export.shared import Served, shared
    from fedkin.runs.database import read_only

    with read_only(folder) as database:
        deployed = bool(database.facts().get("deployment"))
    if deployed:
        from fedkin.cli.talk.flower_extra import need_extra

        need_extra()
        from fedkin.flower.operator.shared_model import served

        return shared(served(folder, trust_code))
    from fedkin.setup.loaded_run import load

    coordinator, parts, at = load(folder, trust_code=trust_code, of=())
    return shared(Served(folder, parts, coordinator.state, at))


def _opened(folder: Path, trust_code: bool, client: str | None) -> "Opened":
    """A run of which models of one client are asked for; None: of anybody."""
    find_user_code()
    from fedkin.export.opened_run import Opened

    opened = Opened(folder, trust_code=trust_code, client=client)
    if opened.unfinished:
        note(opened.unfinished)
    return opened
