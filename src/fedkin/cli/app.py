"""The ``fedkin`` command. Importing it is cheap: torch comes with the command that needs it."""

import logging
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fedkin.cli import (
    audit,
    bench,
    compare,
    data,
    deploy,
    doctor,
    explain,
    export,
    init,
    join,
    reading,
    reproduce,
    run,
    sweep,
    track,
)
from fedkin.cli.talk import next_command, repeated_options
from fedkin.cli.talk.loudness import everywhere, tell_where
from fedkin.cli.talk.mistakes import (
    interrupted,
    of_the_system,
    print_error,
    refuse_nameless,
    usage,
)
from fedkin.core.codes.families import SYSTEM, USAGE
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import (
    any_encoding,
    cleans_up_on_signals,
    loudness,
    print_notice,
    say,
)

WRONG = 2  # exit status of usage errors, which print one line
STOPPED = 130  # exit status of Ctrl-C, as shells have it


class Commands(TyperGroup):
    """Every command: usage errors print one line on stderr and exit with status 2,
    no traceback.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        everywhere(self)
        next_command.everywhere(self)
        repeated_options.everywhere(self)

    def main(self, *args: Any, **options: Any) -> Any:
        any_encoding()
        loudness(logging.INFO)
        try:
            refuse_nameless(_typed(*args, **options))
            with cleans_up_on_signals():
                code = super().main(*args, **{**options, "standalone_mode": False})
            if code == STOPPED:  # newer versions of typer return it, older ones raise Abort
                raise KeyboardInterrupt
        except (typer.Abort, KeyboardInterrupt):
            print_notice("stopped")
            code = STOPPED
        except FedkinError as error:
            tell_where(error)
            if stopped := interrupted(error):
                print_notice(error)
            else:
                print_error(str(error), error.code)
            code = STOPPED if stopped else WRONG
        except (OSError, sqlite3.Error) as error:  # a full disk, a folder that may not be written
            print_error(of_the_system(error), SYSTEM)
            code = WRONG
        except Exception as error:
            # what the parser of the command line raises has it
            if not hasattr(error, "format_message"):
                raise
            print_error(usage(error), USAGE)
            code = WRONG
        sys.exit(code if isinstance(code, int) else 0)


def _typed(args: Sequence[str] | None = None, *_: Any, **__: Any) -> Sequence[str]:
    """The words after the command's name, as ``main`` of a group is given them."""
    return sys.argv[1:] if args is None else args


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


def main() -> None:
    """The console script. A Ctrl-C while the interpreter ends interrupts nothing: torch, and
    whatever else clears up there, would print it. A second one ends the process.
    """
    try:
        app()
    finally:
        signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, signal.SIG_DFL))


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


COMMANDS: tuple[Callable[..., None], ...] = (
    run.run,
    run.resume,
    init.init,
    join.join,
    reading.show,
    reading.methods,
    compare.compare,
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
