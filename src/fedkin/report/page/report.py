"""report.html: one file that needs nothing else, neither a network nor a server."""

from pathlib import Path

from fedkin.report.page.client_file import NAME as CLIENTS
from fedkin.report.page.content import pages
from fedkin.report.records import opened
from fedkin.runs.directory import path_in_run
from fedkin.runs.output_files import write_outside

NAME = "report.html"


def write_report(folder: Path) -> Path:
    """Write report.html into a run directory, from its records alone. Of a run of more than 5,000
    clients also clients.csv, for the page shows a panel of them. An old one is replaced only when
    the new one is whole.

    Args:
        folder: The run directory.

    Returns:
        The path of the page.

    Raises:
        FedkinError: The folder is no run, or cannot be written.
    """
    folder = Path(folder)
    path = path_in_run(folder, NAME)
    with opened(folder) as run:
        written = pages(run)
    if written.clients is not None:
        write_outside(path_in_run(folder, CLIENTS), written.clients)
    return write_outside(path, written.html)
