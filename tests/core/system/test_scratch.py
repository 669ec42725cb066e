"""Folders for a while."""

import os
import tempfile
from pathlib import Path

import pytest

from fedkin.core.system.scratch import ALIVE, PREFIX, YOUNG, remove_abandoned, scratch


def test_it_is_gone_after_the_block_and_its_lock_keeps_it_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch() as folder:
        assert folder.parent == tmp_path
        old = folder.stat().st_mtime - 2 * YOUNG
        os.utime(folder, (old, old))
        remove_abandoned(tmp_path)
        assert (folder / ALIVE).exists()
    assert not folder.exists()


def test_what_a_killed_process_left_goes_and_what_is_young_or_not_ours_stays(
    tmp_path: Path,
) -> None:
    for name in (f"{PREFIX}dead", f"{PREFIX}young", "others"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ALIVE).touch()
        old = (tmp_path / name).stat().st_mtime - (0 if name.endswith("young") else 2 * YOUNG)
        os.utime(tmp_path / name, (old, old))
    remove_abandoned(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{PREFIX}young", "others"]
