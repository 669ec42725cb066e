"""The folder of compiled code: whose it is, and what becomes of old files."""

import os
import shutil
import stat
from pathlib import Path

import pytest
import torch

from fedkin.core.system.private import private_folder, state_folder
from fedkin.runtime import code_cache
from fedkin.runtime.code_cache import kept
from tests.runtime.compile_examples import never

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("g++") or shutil.which("c++")), reason="compiling needs a C++ compiler"
    ),
    pytest.mark.skipif(
        " " in torch.__file__, reason="torch cannot compile in a folder whose path has a blank"
    ),
]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fedkin" / "steps"


def test_no_place_for_files(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept("a", lambda: tmp_path / "made.so") == tmp_path / "made.so"


def test_a_folder_that_others_write_to(cache, tmp_path):
    """What is in it is run."""
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert kept("a", lambda: tmp_path / "made.so") == tmp_path / "made.so"
    assert list(cache.iterdir()) == []


def test_a_damaged_file_is_made_again(cache, tmp_path):
    """It is code: called, it could do anything."""
    made = tmp_path / "made.so"
    made.write_bytes(b"code")
    first = kept("a", lambda: made)
    assert kept("a", never) == first
    first.write_bytes(b"c0de")
    assert kept("a", lambda: made) == first
    assert first.read_bytes() == b"code"


def test_a_file_system_without_locks(cache, tmp_path, monkeypatch):
    def refused(self, *arguments, **named):
        raise NotImplementedError("FileSystem does not appear to support flock")

    monkeypatch.setattr(code_cache.FileLock, "acquire", refused)
    assert kept("a", lambda: tmp_path / "made.so") == tmp_path / "made.so"


def test_a_process_that_hangs_holds_nobody_up(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache, "PATIENCE", 0.05)
    made = tmp_path / "made.so"
    made.write_bytes(b"code")
    kept("a", lambda: made)
    with code_cache.FileLock(cache / "a.lock"):
        assert kept("a", lambda: made) == made


def test_no_room_for_a_file(cache, tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(code_cache, "write_file", full)
    (tmp_path / "made.so").write_bytes(b"code")
    assert kept("a", lambda: tmp_path / "made.so") == tmp_path / "made.so"
    assert list(cache.glob("*.so")) == []


def test_old_files_go(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache, "KEPT", 2)
    source = tmp_path / "made.so"

    def make(name):
        source.write_bytes(name.encode())
        return source

    found: dict[str, Path] = {}
    for age, name in enumerate("abc"):
        found[name] = kept(name, lambda name=name: make(name))
        os.utime(found[name], (1000 + age, 1000 + age))
        if name == "b":
            assert kept("a", never) == found["a"]  # used again: b is older now
    assert sorted(path.name[0] for path in cache.glob("*.so")) == ["a", "c"]
    assert sorted(path.name for path in cache.glob("*.lock")) == ["a.lock", "c.lock"]


@pytest.mark.parametrize("what", ["writable", "a link", "in a writable folder", "a file"])
def test_a_folder_that_is_not_private_is_not_used(what, tmp_path, monkeypatch):
    folder = tmp_path / "above" / "own"
    folder.mkdir(parents=True, mode=0o700)
    if what == "writable":
        folder.chmod(0o770 | 0o002)
    elif what == "in a writable folder":
        (tmp_path / "above").chmod(0o777)
    else:
        folder.rmdir()
        folder.symlink_to(tmp_path) if what == "a link" else folder.touch()
    assert private_folder(folder) is None
    monkeypatch.setenv(code_cache.INDUCTOR, str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    chosen = code_cache.compiler_folder()
    if what == "a link":  # refused as the compiler's folder; the cache may lie behind one
        assert chosen == tmp_path.resolve() / "fedkin" / "inductor"  # by its real path
        assert stat.S_IMODE(chosen.stat().st_mode) == 0o700
    else:
        assert chosen.name.startswith("fedkin-inductor-")
    assert os.environ[code_cache.INDUCTOR] == str(chosen)


def test_a_sticky_folder_may_be_above_and_a_given_private_one_stays(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    monkeypatch.setenv(code_cache.INDUCTOR, str(tmp_path / "tmp" / "mine"))
    assert code_cache.compiler_folder() == tmp_path / "tmp" / "mine"
    assert stat.S_IMODE((tmp_path / "tmp" / "mine").stat().st_mode) == 0o700


def test_somebody_elses_folder_is_not_ours(tmp_path, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert private_folder(folder) is None


def test_a_relative_cache_is_of_whoever_made_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert state_folder("XDG_CACHE_HOME", ".cache") == Path.home() / ".cache" / "fedkin"
