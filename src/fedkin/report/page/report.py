"""report.html: one file that needs nothing else, neither a network nor a server."""

from pathlib import Path

from fedkin.report.page.content import page
from fedkin.report.records import opened
from fedkin.runs.directory import own
from fedkin.runs.outside import write_outside

NAME = "report.html"


def write_report(folder: Path) -> Path:
    """Write report.html into a run directory, from its records alone, and return its path. An old
    one is replaced only when the new one is whole. Raises FedkinError for a folder that is no run,
    or cannot be written.
    """
    folder = Path(folder)
    path = own(folder, NAME)
    with opened(folder) as run:
        text = page(run)
    return write_outside(path, text)
