"""report.html: one file that needs nothing else, neither a network nor a server."""

import os
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.report.page import page
from fedkin.report.records import opened

NAME = "report.html"


def write_report(folder: Path) -> Path:
    """Write report.html into a run directory, from its records alone, and return its path. An old one is replaced only
    when the new one is whole. Raises FedkinError for a folder that is no run, or cannot be written."""
    folder = Path(folder)
    with opened(folder) as run:
        text = page(run)
    target, part = folder / NAME, folder / f"{NAME}.part"
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FedkinError(f"{target} cannot be written: {error.strerror}") from None
    return target
