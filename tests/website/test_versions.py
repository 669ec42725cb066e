"""Versions of the site stand beside each other, the newest first."""

import json
from pathlib import Path

import pytest

from website.links import broken
from website.placed import OURS, replaceable
from website.versions import keep


def test_versions_stay_and_are_listed_newest_first(tmp_path: Path) -> None:
    built, folder = tmp_path / "built", tmp_path / "docs"
    built.mkdir()
    (built / "index.html").write_text("first")
    (folder / "notes").mkdir(parents=True)
    for version in ("0.9.0", "0.10.0", "0.10.0.dev1"):
        (built / "index.html").write_text(version)
        page = keep(built, folder, version)
    listed = json.loads((folder / "versions.json").read_text())
    assert [one["version"] for one in listed] == ["0.10.0", "0.10.0.dev1", "0.9.0"]
    assert [one["aliases"] for one in listed] == [["latest"], [], []]
    assert (folder / "0.9.0" / "index.html").read_text() == "0.9.0"
    assert page.read_text().index("0.10.0") < page.read_text().index("0.9.0")
    assert broken(folder) == []


def test_the_same_version_is_replaced(tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.mkdir()
    (built / "index.html").write_text("new")
    (tmp_path / "docs" / "1.0").mkdir(parents=True)
    for name in OURS:
        (tmp_path / "docs" / "1.0" / name).write_text("old")
    (tmp_path / "docs" / "1.0" / "old.html").write_text("old")
    keep(built, tmp_path / "docs", "1.0")
    assert [path.name for path in (tmp_path / "docs" / "1.0").iterdir()] == ["index.html"]


def test_a_folder_of_anything_else_is_never_replaced(tmp_path: Path) -> None:
    built, mine = tmp_path / "built", tmp_path / "docs" / "1.0"
    built.mkdir()
    mine.mkdir(parents=True)
    assert replaceable(mine)
    assert replaceable(tmp_path / "new")
    (mine / "thesis.txt").write_text("mine")
    with pytest.raises(SystemExit, match="holds other files"):
        keep(built, tmp_path / "docs", "1.0")
    assert (mine / "thesis.txt").read_text() == "mine"
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert not replaceable(tmp_path / "link")
    assert not replaceable(mine / "thesis.txt")
