"""Folders of pictures, LEAF's JSON, data sets saved by Hugging Face: what is in the files arrives,
faults are told.
"""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats.user_files import layout_of
from fedkin.data.sources import load


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="holds nothing that fedkin reads"):
        load(f"{tmp_path}/")


def test_a_file_that_nothing_reads_is_no_folder_of_tables(tmp_path: Path) -> None:
    """Each layout is asked in turn, also those after the folders."""
    (tmp_path / "rows.lines").write_text("1")
    with pytest.raises(FedkinError, match="holds nothing that fedkin reads"):
        layout_of(tmp_path / "rows.lines")
