"""Folders of pictures, LEAF's JSON, data sets saved by Hugging Face: what is in the files arrives,
faults are told.
"""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="holds nothing that fedkin reads"):
        load(f"{tmp_path}/")
