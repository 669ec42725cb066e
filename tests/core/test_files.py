"""Files are written whole or not at all."""

import errno

import pytest

from fedkin.core.files import write_file


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_file(path, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fedkin.core.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert path.read_bytes() == b"old"
