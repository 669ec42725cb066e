"""The leaderboard as the files that a person asks for."""

from collections.abc import Sequence
from pathlib import Path

from fedkin.bench.leaderboard.latex import latex as as_latex
from fedkin.bench.leaderboard.markdown import markdown as as_markdown
from fedkin.bench.leaderboard.markdown import not_run, notes, own_named
from fedkin.bench.leaderboard.page import write_page
from fedkin.bench.row import Row
from fedkin.runs.output_files import LATEX, MARKDOWN, write_outside


def write_leaderboard(
    rows: Sequence[Row], page: Path, markdown: Path | None, latex: Path | None
) -> list[Path]:
    """The tables that were asked for; without any the page.

    Args:
        rows: Of any suites, whole cases alone.
        page: Of the HTML page.
        markdown: Of the table in Markdown; None: it was not asked for.
        latex: Of the table in LaTeX; None: it was not asked for.

    Returns:
        The files that were written.

    Raises:
        FedkinError: One cannot be written, or would take the place of a file of another kind.
    """
    if markdown is None and latex is None:
        return [write_page(rows, page)]
    remarks = [own_named(rows), notes(rows), not_run(rows)]
    written = []
    if markdown is not None:
        text = "\n".join(filter(None, [as_markdown(rows), *remarks]))
        written.append(write_outside(markdown, text, MARKDOWN))
    if latex is not None:
        lines = [line for remark in remarks for line in remark.splitlines() if line]
        written.append(write_outside(latex, as_latex(rows, lines), LATEX))
    return written
