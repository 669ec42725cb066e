"""The commands that train nothing: ``fedkin show``, ``methods``, ``compare`` and ``report``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli import completion
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError, some
from fedkin.experiment.terminal import console, say, say_all, warn
from fedkin.runs.directory import begun, check_begun

if TYPE_CHECKING:
    from fedkin.report.comparison.compare import Comparison

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
RoundsOfNewcomer = Annotated[
    int | None,
    typer.Option(
        "--rounds", metavar="N", min=0, help="Local rounds; default: chosen by validation data."
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


def as_given(data_dir: Path | None) -> str | None:
    """--data-dir as a specification has it.

    Args:
        data_dir: As it was typed; None: it was not.

    Returns:
        A text, or None.
    """
    return None if data_dir is None else str(data_dir)


def show(folder: Folder, as_json: AsJson = False) -> None:
    """Show the metrics of a run."""
    from fedkin.report import formatting, terminal_tables
    from fedkin.report.summary import summary
    from fedkin.runs.database import continued_by

    found = summary(folder)
    if as_json:
        print_json(found)
    else:
        console().print(terminal_tables.show(found))
        if not found["finished"]:
            after = f"{formatting.progress(found)}: these numbers are not its last ones"
            warn(f"note: {after} ({continued_by(folder)} goes on)")


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
    as_json: AsJson = False,
) -> None:
    """List methods, their hyper-parameters and requirements."""
    if certificate or markdown:
        _methods_loaded(name, certificate, as_json)
        return
    from fedkin.cli.listing import methods as listing

    listed = listing.methods() if name is None else listing.named(name)
    if as_json:
        print_json(listed)
    else:
        listing.show_methods(console(), listed)


def _methods_loaded(name: str | None, certificate: bool, as_json: bool) -> None:
    from fedkin.certificates import registry
    from fedkin.cli.listing import certificates, choosing
    from fedkin.cli.listing.methods import own_found
    from fedkin.core.system.own_code import is_own

    if name is not None and is_own(name):
        own_found(name)
    found = registry.held(name)
    if not certificate:
        say_all(choosing.table([one.name for one in found]))
    elif as_json:
        print_json([{"name": one.name, "state": one.state, **one.content} for one in found])
    elif name is None:
        console().print(certificates.overview(found))
    else:
        console().print(certificates.whole(found[0], registry.packaged()["about"]))


def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories.", show_default=False)
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAME",
            help="Baseline method or run; default: local.",
        ),
    ] = None,
    best: Annotated[
        bool,
        typer.Option("--best", help="Keep the best setting of each method, by validation data."),
    ] = False,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="NAME", help="Metric; default: that of the runs."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write the tables as Markdown."),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE", help="Write the tables as LaTeX, for a paper."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write an HTML page with charts."),
    ] = None,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs, also client by client against a baseline."""
    from fedkin.report.comparison import tables
    from fedkin.report.comparison.compare import comparison

    _apart({"--markdown": markdown, "--latex": latex, "--html": html})
    runs = _without_files(folders)
    for folder in runs:
        check_begun(folder, several=True)
    found = comparison(runs, against, best, measure)
    written = _written(found, markdown, latex, html, figures)
    if as_json:
        print_json(tables.plain(found))
    elif written:
        for path in written:
            say(path)
    else:
        console().print(tables.compare(found))


def _apart(files: Mapping[str, Path | None]) -> None:
    """Raise FedkinError where two options name one file."""
    named: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = named.setdefault(path.resolve(), option)
        if other != option:
            raise FedkinError(f"{other} and {option} both name {path}: give each a file of its own")


def _written(
    found: "Comparison",
    markdown: Path | None,
    latex: Path | None,
    html: Path | None,
    figures: Path | None,
) -> list[Path]:
    """What was asked for of a comparison, as files."""
    from fedkin.report.comparison import tables
    from fedkin.runs.outside import LATEX, MARKDOWN, write_outside

    written = []
    if markdown is not None:
        written.append(write_outside(markdown, tables.markdown(found), MARKDOWN))
    if latex is not None:
        written.append(write_outside(latex, tables.latex(found), LATEX))
    if html is not None or figures is not None:  # charts take their time to be imported
        from fedkin.report.comparison.page import write_charts, write_comparison

        written += [] if html is None else [write_comparison(found, html)]
        written += [] if figures is None else write_charts(found, figures)
    return written


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
    from fedkin.bench.live import LiveRows
    from fedkin.report.watch import Watch

    with Watch(folder, port, LiveRows.of(folder)) as served:
        say(served.address)
        warn("note: this address is for this machine, and the page for reading; Ctrl-C ends it")
        served.serve_forever(poll_interval=0.2)


def _without_files(folders: list[Path]) -> list[Path]:
    """What is left of ``runs/*`` without the files beside runs, such as a page; in a sweep those
    that are passed over are named. A run's own file is a slip, which is reported.
    """
    from fedkin.runs.outside import STUDY

    files = [path for path in folders if path.is_file() and not begun(path.parent)]
    if files and len(files) == len(folders):
        raise FedkinError(
            f"there is nothing to compare: {some(map(str, files))} is not a run directory, but a "
            "file; give at least one run directory"
        )
    searched = [path for path in files if (path.parent / STUDY).is_file()]
    if searched:
        warn(f"note: passed over, for files of a sweep are no runs: {some(map(str, searched))}")
    return [path for path in folders if path not in files]
