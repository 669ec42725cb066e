"""A comparison as Python and notebooks show it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedkin.core.errors import FedkinError
from fedkin.core.escaping import html_table
from fedkin.core.files import near_path
from fedkin.report.comparison.compare import Comparison, comparison
from fedkin.report.comparison.experiments.paper import latex
from fedkin.report.comparison.page import write_charts, write_comparison
from fedkin.report.comparison.tables import markdown, tables_of, troubles
from fedkin.runs.output_files import LATEX, write_outside

if TYPE_CHECKING:
    import pandas as pd


class SideBySide:
    """Runs side by side; ``runs``, ``seeds`` and ``against`` are DataFrames (docs/compare.md).

    Args:
        found: What ``comparison`` made of the runs.
    """

    def __init__(self, found: Comparison) -> None:
        self.found = found

    @classmethod
    def of(
        cls,
        folders: Sequence[Path],
        against: str | None = None,
        best: bool = False,
        measure: str | None = None,
    ) -> "SideBySide":
        """The comparison of run directories, as ``fedkin compare`` makes it.

        Args:
            folders: Run directories; at least one.
            against: A method or the name of a run that the others are paired with; None: local,
                else the first run.
            best: Whether only the setting that validation data chose is kept of each method.
            measure: The measure to go by; None: that of the runs.

        Returns:
            A comparison whose tables are its attributes.

        Raises:
            FedkinError: A folder is not there, there is no run, or none that ``against`` names,
                or that has the measure.
        """
        gone = next((folder for folder in folders if not folder.exists()), None)
        if gone is not None:
            raise FedkinError(
                f"{gone} does not exist{near_path(gone) or ': name the folders of runs'}"
            )
        return cls(comparison(folders, against, best, measure))

    @property
    def runs(self) -> "pd.DataFrame":
        """One row a run."""
        return self.found.runs

    @property
    def seeds(self) -> "pd.DataFrame":
        """Mean and standard deviation over seeds."""
        return self.found.seeds

    @property
    def against(self) -> "pd.DataFrame":
        """One row an experiment, client by client against the baseline."""
        return self.found.against

    def page(self, target: Path | str) -> Path:
        """Write a page with charts, which needs no network.

        Args:
            target: The path of the file, ending in .html.

        Returns:
            The same path.

        Raises:
            FedkinError: It cannot be written, or is a run's own file.
        """
        return write_comparison(self.found, Path(target))

    def latex(self, target: Path | str) -> Path:
        """Write the tables for LaTeX.

        Args:
            target: The path of the file, ending in .tex.

        Returns:
            The same path.

        Raises:
            FedkinError: It cannot be written, or is a run's own file.
        """
        return write_outside(Path(target), latex(self.found), LATEX)

    def figures(self, folder: Path | str) -> list[Path]:
        """Write the page's charts as files, for a paper.

        Args:
            folder: Is made where it is not there.

        Returns:
            The paths: of each chart an SVG, a PNG and a PDF.

        Raises:
            FedkinError: The folder cannot be written.
        """
        return write_charts(self.found, Path(folder))

    def __repr__(self) -> str:
        return markdown(self.found).rstrip()

    def _repr_html_(self) -> str:
        parts = [html_table(one.title, one.rows, one.columns) for one in tables_of(self.found)]
        return "".join([*parts, *(html_table(text, []) for text in troubles(self.found))])
