"""The charts of a report as files, for a paper: SVG, PNG and PDF."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import vl_convert

from fedkin.report.charts.base import Figure
from fedkin.report.matrix import measured
from fedkin.report.page.figures import page_figures
from fedkin.report.page.gain import gain_of
from fedkin.report.panel import panel_of
from fedkin.report.records import Run, opened
from fedkin.report.summary import of_run
from fedkin.runs.output_files import make_folder, write_outside

WIDTH = 640  # CSS pixels: in print, 17 cm
SCALE = 2.0  # of PNGs
FORMATS: Mapping[str, Callable[[str], bytes]] = {
    "svg": lambda spec: vl_convert.vegalite_to_svg(spec).encode(),
    "png": lambda spec: vl_convert.vegalite_to_png(spec, scale=SCALE),
    "pdf": lambda spec: vl_convert.vegalite_to_pdf(spec),
}


def write_figures(run_folder: Path, folder: Path) -> list[Path]:
    """Every chart of a run's report, in every format: ``folder``/NAME.svg, .png, .pdf.

    Args:
        run_folder: The run directory.
        folder: Is made where it is not there.

    Returns:
        The paths of all files.

    Raises:
        FedkinError: ``run_folder`` is no run, or ``folder`` cannot be written.
    """
    with opened(Path(run_folder)) as run:
        figures = charts_of(run)
    return [path for figure in figures for path in write_figure(figure, Path(folder))]


def charts_of(run: Run) -> list[Figure]:
    """The charts that show the whole run; those of a chosen client are empty without one.

    Args:
        run: An open run.

    Returns:
        In the order of the page.
    """
    summary = of_run(run)
    what, matrices = measured(run, summary)
    panel = panel_of(run, matrices)
    return page_figures(run, summary, what, matrices, gain_of(run, summary), panel).figures


def first_chart(run_folder: Path | str) -> str:
    """The chart that a report begins with, as SVG; "" for a run without scores.

    Args:
        run_folder: The run directory.

    Returns:
        SVG, or "".

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    with opened(Path(run_folder)) as run:
        figures = charts_of(run)
    return "" if not figures else vl_convert.vegalite_to_svg(json.dumps(standing(figures[0].spec)))


def write_figure(figure: Figure, folder: Path) -> list[Path]:
    """One chart in all formats.

    Args:
        figure: The chart.
        folder: Is made where it is not there.

    Returns:
        A path for each of FORMATS.

    Raises:
        FedkinError: The folder or a file cannot be written.
    """
    text = json.dumps(standing(figure.spec))
    safe = re.sub(r"[^\w.-]+", "-", figure.name)  # a method may call its notes what it likes
    make_folder(folder)
    return [
        write_outside(folder / f"{safe}.{kind}", drawn(text)) for kind, drawn in FORMATS.items()
    ]


def standing(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A specification with a width of its own: that of the page is its container's.

    Args:
        spec: Of Vega-Lite.

    Returns:
        A copy, WIDTH pixels wide.
    """
    return {**spec, "width": WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
