"""The charts of a report as files."""

from pathlib import Path

import pytest

from fedkin.report.page.figure_files import write_figures
from tests.report.records_for_tests import write


@pytest.mark.rotating
def test_figures_are_saved_as_files(tmp_path: Path) -> None:
    names = {path.name for path in write_figures(write(tmp_path / "run"), tmp_path / "figures")}
    assert {"flow.svg", "flow.png", "flow.pdf", "simplex.svg"} <= names
    assert not any(name.startswith("own") for name in names)
    assert (tmp_path / "figures" / "flow.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures" / "flow.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (tmp_path / "figures" / "flow.svg").read_text()
