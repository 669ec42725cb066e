"""The ``fedkin`` command. Importing it is cheap: torch comes with the command that needs it."""

import logging
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fedkin.cli import (
    audit,
    bench,
    data,
    deploy,
    doctor,
    explain,
    export,
    init,
    join,
    reading,
    reproduce,
    sweep,
    track,
)
from fedkin.cli.reading import AsJson, Folder, TrustCode, as_given, method_names
from fedkin.cli.talk.loudness import everywhere, tell_where
from fedkin.cli.talk.mistakes import interrupted, of_the_system, print_error, usage
from fedkin.cli.training import train, train_quietly
from fedkin.core.codes.families import SYSTEM, USAGE
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import any_encoding, ends_tidily, loudness, say, tell_hints

if TYPE_CHECKING:
    from fedkin.runs.record import Record
    from fedkin.runs.spec import Spec

WRONG = 2  # exit status of usage errors, which print one line
STOPPED = 130  # exit status of Ctrl-C, as shells have it


class Commands(TyperGroup):
    """Every command: usage errors print one line on stderr and exit with status 2,
    no traceback.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        everywhere(self)

    def main(self, *args: Any, **options: Any) -> Any:
        any_encoding()
        loudness(logging.INFO)
        try:
            with ends_tidily():
                code = super().main(*args, **{**options, "standalone_mode": False})
            if code == STOPPED:  # newer versions of typer return it, older ones raise Abort
                raise KeyboardInterrupt
        except (typer.Abort, KeyboardInterrupt):
            code = print_error("stopped", STOPPED)
        except FedkinError as error:
            tell_where(error)
            code = (
                print_error(str(error), STOPPED)
                if interrupted(error)
                else print_error(f"error: {error}", WRONG, error.code)
            )
        except (OSError, sqlite3.Error) as error:  # a full disk, a folder that may not be written
            code = print_error(f"error: {of_the_system(error)}", WRONG, SYSTEM)
        except Exception as error:
            if not hasattr(
                error, "format_message"
            ):  # what the parser of the command line raises has it
                raise
            code = print_error(f"error: {usage(error)}", WRONG, USAGE)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=Commands,
    name="fedkin",
    help="Train personal models for many clients, without moving their data.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(deploy.app)
app.add_typer(data.app)
app.add_typer(bench.app)

WHAT, HOW, WHERE = "What is trained", "How it is trained", "Where"


def _option(name: str, panel: str, metavar: str, text: str, **further: Any) -> Any:
    return typer.Option(
        name, metavar=metavar, help=text, rich_help_panel=panel, show_default=False, **further
    )


def main() -> None:
    """The console script."""
    app()


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from fedkin import __version__

        say(f"fedkin {__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


@app.command()
def run(
    spec: Annotated[
        Path | None,
        typer.Argument(
            metavar="SPEC.toml", help="Experiment file; options override it.", show_default=False
        ),
    ] = None,
    method: Annotated[
        str | None,
        _option(
            "--method",
            WHAT,
            "NAME",
            "comet, fedavg, …: see fedkin methods.",
            autocompletion=method_names,
        ),
    ] = None,
    data: Annotated[
        str | None, _option("--data", WHAT, "NAME", "Data set or file; see fedkin data.")
    ] = None,
    split: Annotated[
        str | None, _option("--split", WHAT, "NAME", "Client partition, e.g. dirichlet:0.01.")
    ] = None,
    model: Annotated[
        str | None, _option("--model", WHAT, "NAME", "mlr, dnn, …, or your package.module:Class.")
    ] = None,
    public: Annotated[
        str | None,
        _option(
            "--public", WHAT, "NAME", "Public set: a data set, or held-out; :500 for 500 samples."
        ),
    ] = None,
    clients: Annotated[int | None, _option("--clients", HOW, "N", "Number of clients.")] = None,
    participation: Annotated[
        float | None,
        _option("--participation", HOW, "SHARE", "Fraction of clients per round, in (0, 1]."),
    ] = None,
    holdout_clients: Annotated[
        float | None,
        _option("--holdout-clients", HOW, "SHARE", "Fraction of clients that join after training."),
    ] = None,
    rounds: Annotated[int | None, _option("--rounds", HOW, "N", "Communication rounds.")] = None,
    measure: Annotated[
        str | None,
        _option(
            "--measure",
            HOW,
            "NAME",
            "Metric for selection and comparison: accuracy, auc, rmse, …",
        ),
    ] = None,
    seed: Annotated[
        int | None, _option("--seed", HOW, "N", "Equal seeds give equal results.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        _option("--set", HOW, "KEY=VALUE", "Set any key: --set train.lr=0.05. Repeatable."),
    ] = None,
    transform: Annotated[
        list[str] | None, _option("--transform", HOW, "NAME:KEY=VALUE", "median, …; repeatable.")
    ] = None,
    data_dir: Annotated[
        Path | None,
        _option("--data-dir", WHERE, "DIR", r"Data directory \[env: FEDKIN_DATA]."),
    ] = None,
    engine: Annotated[
        str | None, _option("--engine", WHERE, "NAME", "processes, inprocess or ray.")
    ] = None,
    workers: Annotated[
        int | None, _option("--workers", WHERE, "N", "Worker processes; default: one per core.")
    ] = None,
    out: Annotated[
        Path | None, _option("--out", WHERE, "DIR", "Run directory; must be new or empty.")
    ] = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Train personal models in a simulation.

    Defaults depend on the kind of the data; without data, handwritten digits.
    """
    from fedkin.setup.options import specification

    options = {
        "method": method,
        "data": data,
        "split": split,
        "model": model,
        "public": public,
        "clients": clients,
        "participation": participation,
        "holdout_clients": holdout_clients,
        "rounds": rounds,
        "seed": seed,
        "measure": measure,
        "data_dir": as_given(data_dir),
        "engine": engine,
        "workers": workers,
        "transform": transform,
    }
    if spec is not None and not spec.exists():
        from fedkin.reproduce.preset import packaged

        spec = packaged(spec)
    chosen, hints = specification(spec, options, set_ or [], trust_code)
    tell_hints(hints)
    export.find_own_code()
    from fedkin.experiment.run import run as begin

    work = partial(_begun, begin, chosen, out)
    if as_json:
        train_quietly(chosen, work)
    else:
        train(chosen, work)


@app.command()
def resume(
    folder: Folder,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Number of worker processes; default: as before.", min=1
        ),
    ] = None,
    trust_code: TrustCode = False,
) -> None:
    """Continue a run from its last committed round.

    The result equals that of an uninterrupted run.

    """
    from fedkin.experiment.before_resume import before
    from fedkin.runs.directory import SPEC
    from fedkin.runs.spec import parse, read

    done = before(folder)
    content, text = read(folder / SPEC)
    chosen, _ = parse(content, text, str(folder / SPEC))
    if done is None:
        say(f"{folder} is finished: there is nothing to resume")
    train(chosen, partial(_resumed, folder, workers, trust_code), done, new=False)


COMMANDS: tuple[Callable[..., None], ...] = (
    init.init,
    join.join,
    reading.show,
    reading.methods,
    reading.compare,
    reading.report,
    audit.audit,
    reading.watch,
    doctor.doctor,
    explain.explain,
    reproduce.reproduce,
    sweep.sweep,
    track.track,
    export.export,
    export.predict,
)
for command in COMMANDS:
    app.command()(command)


def _begun(
    begin: Callable[..., Path], spec: "Spec", out: Path | None, progress: Callable[["Record"], None]
) -> Path:
    return begin(spec, out=out, progress=progress)


def _resumed(
    folder: Path, workers: int | None, trust_code: bool, progress: Callable[["Record"], None]
) -> Path:
    export.find_own_code()
    from fedkin.experiment.resume import resume as go_on

    return go_on(folder, progress=progress, workers=workers, trust_code=trust_code)
