"""The commands that read runs and methods: ``fedkin show``, ``methods``, ``report``, ``watch``."""

from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli import completion
from fedkin.cli.options import AsJson, Figures, Folder
from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import console, note, say, say_all


def show(folder: Folder, as_json: AsJson = False) -> None:
    """Show the metrics of a run."""
    from fedkin.report import terminal_tables
    from fedkin.report.summary import summary
    from fedkin.report.words import run_words
    from fedkin.runs import checkpoint
    from fedkin.runs.database import continued_by

    found = summary(folder)
    if as_json:
        print_json(found)
    else:
        console().print(terminal_tables.show(found))
        if not found["finished"]:
            after = f"{run_words.progress(found)}: these numbers are not its last ones"
            training = checkpoint.in_training(folder)
            how = "it is in training now" if training else f"{continued_by(folder)} goes on"
            note(f"{after} ({how})")


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A method; default: all.",
            show_default=False,
            autocompletion=completion.method_names,
        ),
    ] = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Show the tests that they have passed.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a table of requirements and messages.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Try the method on small runs that must end the same."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List methods, their hyper-parameters and requirements."""
    if check:
        _method_checked(name, certificate or markdown, as_json)
        return
    if certificate or markdown:
        _methods_loaded(name, certificate, as_json)
        return
    from fedkin.cli.listing import methods as listing

    listed = listing.methods() if name is None else listing.named(name)
    if as_json:
        print_json(listed)
    else:
        listing.show_methods(console(), listed)


def _method_checked(name: str | None, others: bool, as_json: bool) -> None:
    from fedkin.core.errors import FedkinError

    if name is None or others:
        raise FedkinError("--check goes with one method: fedkin methods NAME --check")
    from fedkin.cli.listing import checks
    from fedkin.core.system.user_code import find_user_code
    from fedkin.doctor.method_checks import check_method

    find_user_code()
    found = check_method(name)
    if as_json:
        print_json({"method": name, "checks": [check._asdict() for check in found]})
    else:
        checks.show(console(), name, found)
    if any(check.holds is False for check in found):
        raise typer.Exit(1)


def _methods_loaded(name: str | None, certificate: bool, as_json: bool) -> None:
    from fedkin.certificates import registry
    from fedkin.cli.listing import certificates, choosing
    from fedkin.cli.listing.methods import own_found
    from fedkin.core.system.user_code import is_user_code

    if name is not None and is_user_code(name):
        own_found(name)
    certificates_held = registry.held(name)
    if not certificate:
        say_all(choosing.table([one.name for one in certificates_held]))
    elif as_json:
        print_json(
            [{"name": one.name, "state": one.state, **one.content} for one in certificates_held]
        )
    elif name is None:
        console().print(certificates.overview(certificates_held))
    else:
        console().print(certificates.whole(certificates_held[0], registry.packaged()["about"]))


def report(
    folder: Folder,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Write report.html into a run directory: one file, no network needed."""
    if figures is None:
        from fedkin.report.page.report import write_report

        written = [write_report(folder)]
    else:
        from fedkin.report.page.figure_files import write_figures

        written = list(write_figures(folder, figures))
    if as_json:
        print_json({"written": [str(path) for path in written]})
    else:
        for path in written:
            say(path)


def watch(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A run, or the folder of a sweep, a leaderboard or a deployment.",
            show_default=False,
        ),
    ],
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port; 0: any free one.", min=0, max=65535)
    ] = 0,
) -> None:
    """Serve the report of a run, sweep, leaderboard or deployment, to this machine only."""
    from fedkin.bench.leaderboard.live import LiveRows
    from fedkin.report.watch import Watch
    from fedkin.sweep.live import LiveTrials

    with Watch(folder, port, LiveRows.of(folder) or LiveTrials.of(folder)) as served:
        say(served.address)
        note("this address is for this machine, and the page for reading; Ctrl-C ends it")
        served.serve_forever(poll_interval=0.2)
