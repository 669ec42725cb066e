"""Folders that nobody else can change."""

import os
from pathlib import Path

import pytest

from fedkin.core.system.private import private_folder, state_folder


def test_it_is_made_with_all_above_it_for_us_alone(tmp_path: Path) -> None:
    found = private_folder(tmp_path / "a" / "b")
    assert found is not None
    assert found.stat().st_mode & 0o777 == 0o700
    assert found.parent.stat().st_mode & 0o777 == 0o700


def test_one_that_was_open_is_refused_and_one_that_only_others_read_is_closed(
    tmp_path: Path,
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "read").mkdir()
    (tmp_path / "read").chmod(0o755)
    assert private_folder(tmp_path / "open") is None
    assert private_folder(tmp_path / "open" / "below") is None
    closed = private_folder(tmp_path / "read")
    assert closed is not None
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_link_and_a_file_are_no_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    (tmp_path / "file").touch()
    assert private_folder(tmp_path / "link") is None
    assert private_folder(tmp_path / "file") is None
    assert private_folder(Path("a\0b")) is None
    below = private_folder(tmp_path / "link" / "own")  # a link above is followed
    assert below == Path(os.path.realpath(tmp_path)) / "there" / "own"


def test_a_relative_directory_of_xdg_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", "/somebody")
    assert state_folder("XDG_CACHE_HOME", ".cache") == Path("/somebody/.cache/fedkin")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert state_folder("XDG_CACHE_HOME", ".cache") == Path("/cache/fedkin")
