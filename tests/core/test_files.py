"""Files are written, and read, whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fedkin.core import files
from fedkin.core.files import near_path, read_file, remove_left_parts, write_file, write_secret


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


@pytest.mark.skipif(not files.POSIX, reason="no folder can be opened")
def test_a_durable_file_has_its_name_on_the_disk_too(tmp_path, monkeypatch):
    """Else a machine that loses its power has the old file, or none, whatever was said of it."""
    synced, fsync = [], os.fsync

    def watched(handle):
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        synced.append((folder, sorted(path.name for path in tmp_path.glob("[ab]"))))
        return fsync(handle)

    monkeypatch.setattr("fedkin.core.files.os.fsync", watched)
    write_file(tmp_path / "a", b"1")
    write_secret(tmp_path / "b", b"2")
    assert synced == [(False, []), (True, ["a"]), (False, ["a"]), (True, ["a", "b"])]
    write_file(tmp_path / "a", b"3", durable=False)
    assert len(synced) == 4


@pytest.mark.skipif(not files.POSIX, reason="there is no asking whether a process lives")
def test_what_killed_processes_left_of_a_file_is_removed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    of_nobody, young, mine, no_number, others = (
        tmp_path / name
        for name in (
            f"a[1].md.{gone.pid}.part",
            f"a[1].md.{gone.pid + (1 << 22)}.part",
            f"a[1].md.{os.getpid()}.part",
            "a[1].md.x.part",
            f"b.md.{gone.pid}.part",
        )
    )
    for path in (of_nobody, young, mine, no_number, others):
        path.touch()
        if path != young:
            os.utime(path, (0, 0))
    remove_left_parts(tmp_path / "a[1].md")
    assert set(tmp_path.iterdir()) == {young, mine, no_number, others}
    remove_left_parts(tmp_path / "no folder" / "a.md")  # whoever writes there says what is wrong


@pytest.mark.parametrize("fails", ["os.fsync", "Path.replace"])
def test_a_secret_that_a_full_disk_kept_out_is_written_later(fails, tmp_path, monkeypatch):
    path = tmp_path / "salt"

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"fedkin.core.files.{fails}", full)
        with pytest.raises(OSError, match="No space left"):
            write_secret(path, b"new")
    assert list(tmp_path.iterdir()) == []
    write_secret(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("write", [write_file, write_secret])
def test_what_a_killed_process_left_is_in_nobodys_way(write, tmp_path):
    """Another process may have the same number; a link in the part's place leads nowhere, as one
    of each number does in a run directory of a stranger.
    """
    path, other = tmp_path / "salt", tmp_path / "other"
    part = tmp_path / f"salt.{os.getpid()}.part"
    part.write_bytes(b"half")
    write(path, b"new")
    other.write_bytes(b"kept")
    part.symlink_to(other)
    write(path, b"newer")
    assert (path.read_bytes(), other.read_bytes()) == (b"newer", b"kept")
    assert not part.exists()
    os.link(other, part)
    write(path, b"newest")
    assert (path.read_bytes(), other.read_bytes()) == (b"newest", b"kept")


def test_a_link_is_replaced_where_nobody_named_the_file(tmp_path):
    victim, path = tmp_path / "victim", tmp_path / "kept.json"
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    write_file(path, b"new", links=False)
    assert victim.read_bytes() == b"precious"
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_file_that_grows_while_it_is_read_is_whole_or_refused(tmp_path, monkeypatch):
    path, size_of = tmp_path / "a", os.fstat

    def before_it_grew(handle):
        facts = list(size_of(handle))
        facts[stat.ST_SIZE] = 10
        return os.stat_result(facts)

    monkeypatch.setattr("fedkin.core.files.os.fstat", before_it_grew)
    for size in (0, 9, 10, 11, 12, 3_000_000):
        path.write_bytes(b"x" * size)
        assert read_file(path, 3_000_000) == b"x" * size, size
    path.write_bytes(b"x" * 3_000_001)
    for most in (3_000_000, 11, 10):
        with pytest.raises(OSError, match=f"larger than {most:,} bytes"):
            read_file(path, most)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux")
def test_a_file_that_the_kernel_makes_up_is_whole():
    """It says that it has no bytes."""
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0
    assert read_file(path, 1 << 20).startswith(b"Name:")
    with pytest.raises(OSError, match="larger than 100 bytes"):
        read_file(path, 100)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("clinc.csv", "clinic.csv"),
        ("clinic.cvs", "clinic.csv"),
        ("rusn/first", "runs/first"),  # the folder is misspelt, what is in it is not
        ("runs/frist", "runs/first"),
    ],
)
def test_a_misspelt_path_has_the_nearest_beside_it(typed, meant, tmp_path):
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "clinic.csv").touch()
    assert near_path(tmp_path / typed) == f": did you mean {str(tmp_path / meant)!r}?"


@pytest.mark.parametrize("typed", ["other.csv", "rusn/second", "clinic.csv/x", "nowhere"])
def test_a_path_that_is_like_none_has_no_hint(typed, tmp_path):
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "clinic.csv").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    assert near_path(tmp_path / typed) == ""


def test_a_setting_that_a_shell_took_apart_is_told_from_a_path() -> None:
    hint = near_path(Path("privacy.noise=delta=1e-3"))
    assert hint.startswith(": quote a setting with braces, as in --set 'privacy.noise={")
