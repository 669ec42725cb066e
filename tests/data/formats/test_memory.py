"""How much memory a file may take, and the end of those that take more."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats import memory
from fedkin.data.formats.memory import room, within_room
from fedkin.data.sources import load

LITTLE = 64 << 20  # bytes that these tests have for a file


def test_a_small_file_may_not_take_what_a_large_one_may(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However much memory there is: filling it takes time."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(memory, "room", lambda: 1 << 40)
    monkeypatch.setattr(memory, "LEAST", LITTLE)
    numbers = np.zeros(10_000, dtype=np.int32)
    texts = arrow.DictionaryArray.from_arrays(numbers, ["x" * 100_000])
    path = tmp_path / "a.parquet"
    table = arrow.table({"a": texts, "label": numbers})
    parquet.write_table(table, path, compression="zstd", store_schema=False)
    most = LITTLE + 200 * path.stat().st_size
    with pytest.raises(FedkinError, match=f"takes more than {most:,} bytes of memory"):
        load(str(path))


def test_who_takes_more_memory_than_allowed_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "room", lambda: LITTLE)
    with pytest.raises(FedkinError, match="a takes more than"), within_room("a"):
        np.ones(2 * LITTLE, dtype=np.uint8)
    assert np.ones(2 * LITTLE, dtype=np.uint8).all()  # the limit is gone
    with within_room("a"), within_room("b"):
        assert np.ones(LITTLE // 2, dtype=np.uint8).all()


def test_what_a_container_allows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "max").write_text("2000000\n")
    monkeypatch.setattr(memory, "CGROUPS", (str(tmp_path / "max"), str(tmp_path / "none")))
    assert room() == 1_000_000
