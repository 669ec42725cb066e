"""``fedkin compare``: runs side by side, on the terminal or as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli.options import AsJson, Figures, check_distinct_outputs
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError, some
from fedkin.experiment.terminal import console, note, say
from fedkin.runs.directory import check_begun, has_begun

if TYPE_CHECKING:
    from fedkin.report.comparison.compare import Comparison


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
        typer.Option("--latex", metavar="FILE", help="Write LaTeX tables of methods, for a paper."),
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

    check_distinct_outputs({"--markdown": markdown, "--latex": latex, "--html": html})
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


def _written(
    comparison: "Comparison",
    markdown: Path | None,
    latex: Path | None,
    html: Path | None,
    figures: Path | None,
) -> list[Path]:
    """What was asked for of a comparison, as files."""
    from fedkin.report.comparison import tables
    from fedkin.report.comparison.experiments import paper
    from fedkin.runs.output_files import LATEX, MARKDOWN, write_outside

    written = []
    if markdown is not None:
        written.append(write_outside(markdown, tables.markdown(comparison), MARKDOWN))
    if latex is not None:
        written.append(write_outside(latex, paper.latex(comparison), LATEX))
    if html is not None or figures is not None:  # charts take their time to be imported
        from fedkin.report.comparison.page import write_charts, write_comparison

        written += [] if html is None else [write_comparison(comparison, html)]
        written += [] if figures is None else write_charts(comparison, figures)
    return written


def _without_files(folders: list[Path]) -> list[Path]:
    """What is left of ``runs/*`` without the files beside runs, such as a page; in a sweep those
    that are passed over are named. A run's own file is a slip, which is reported.
    """
    from fedkin.runs.output_files import STUDY

    files = [path for path in folders if path.is_file() and not has_begun(path.parent)]
    if files and len(files) == len(folders):
        raise FedkinError(
            f"there is nothing to compare: {some(map(str, files))} is not a run directory, but a "
            "file; give at least one run directory"
        )
    searched = [path for path in files if (path.parent / STUDY).is_file()]
    if searched:
        note(f"passed over, for files of a sweep are no runs: {some(map(str, searched))}")
    return [path for path in folders if path not in files]
