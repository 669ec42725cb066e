"""Entry points are read again only where Python's path has changed."""

from pathlib import Path

import pytest

from fedkin.core.system import installed as module
from fedkin.core.system.installed import installed
from tests.experiment.registered import registered


def names() -> list[str]:
    return [entry.name for entry in installed("fedkin.methods")]


def test_a_package_is_found_once_its_folder_is_on_the_path(tmp_path: Path, monkeypatch) -> None:
    registered(tmp_path, "new_here")
    before = names()
    assert "new_here" not in before
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names() == ["new_here", *before]


def test_one_that_is_installed_meanwhile_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = names()
    registered(tmp_path, "later")
    assert names() == ["later", *before]


def test_the_same_path_is_not_read_twice(monkeypatch) -> None:
    found = names()

    def reading(group: str) -> list[str]:
        pytest.fail("read again")

    monkeypatch.setattr(module, "entry_points", reading)
    assert names() == found


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path, monkeypatch) -> None:
    before = names()
    monkeypatch.syspath_prepend(str(tmp_path / "nowhere"))
    assert names() == before
