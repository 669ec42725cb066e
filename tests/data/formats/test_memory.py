"""How much memory a file may take, and the end of those that take more."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.system import cgroup
from fedkin.data.formats import memory
from fedkin.data.formats.frames import Style, read_file
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
        # more than what this process has, and does not use, from the tests before
        np.empty(64 * LITTLE, dtype=np.uint8)
    assert np.ones(2 * LITTLE, dtype=np.uint8).all()  # the limit is gone
    with within_room("a"), within_room("b"):
        assert np.ones(LITTLE // 2, dtype=np.uint8).all()


def test_what_a_container_allows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "memory.max").write_text("2000000\n")
    (tmp_path / "own").write_text("0::/job\n")
    monkeypatch.setattr(cgroup, "GROUPS", tmp_path)
    monkeypatch.setattr(cgroup, "OWN", tmp_path / "own")
    assert room() == 1_000_000


@pytest.mark.rotating
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_small_table_is_read_within_its_bound(ending: str, tmp_path: Path) -> None:
    """In a process of its own: what pyarrow's allocator reserves there at its first use would leave
    no room for the threads that it then waits for.
    """
    pytest.importorskip("pyarrow")
    path = tmp_path / f"t.{ending}"
    frame = pd.DataFrame(np.random.default_rng(0).random((700, 8)), columns=[*"abcdefgh"])
    frame.assign(label=0).to_parquet(path) if ending == "parquet" else frame.to_feather(path)
    code = (
        "from pathlib import Path\n"
        "from fedkin.data.formats.frames import Style, read_file\n"
        f"print(len(read_file(Path({str(path)!r}), Style()).frame))"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
        )
        assert (done.stdout, done.returncode) == ("700\n", 0), done.stderr


def test_what_pyarrow_reserves_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(memory, "LEAST", LITTLE)
    frame = pd.DataFrame({"x": np.zeros(3_000_000)})  # 24 MB of a file of a few kB
    frame.to_parquet(tmp_path / "t.parquet")
    assert len(read_file(tmp_path / "t.parquet", Style()).frame) == len(frame)
