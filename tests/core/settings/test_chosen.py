"""Settings of the program: who wins, and who may not choose what is run."""

import os
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.settings.chosen import LARGEST, NAME, cache_folder, data_setting
from fedkin.data.folder import data_folder
from tests.cli.command import fedkin, told


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and an empty current folder beside it."""
    for name in ("home", "here"):
        (tmp_path / name).mkdir()
    for name in ("FEDKIN_DATA", "FEDKIN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


def test_the_environment_wins_over_this_folder_and_this_folder_over_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_setting() is None
    assert data_folder(None) is None
    for folder in (home / "a", Path("b"), home / "c"):
        folder.mkdir()
    (home / NAME).write_text('data_dir = "a"')
    assert data_folder(None) == home / "a"
    Path(NAME).write_text('data_dir = "b"')
    assert data_folder(None) == Path("b").absolute()
    monkeypatch.setenv("FEDKIN_DATA", str(home / "c"))
    assert data_folder(None) == home / "c"
    assert data_folder(home / "a") == home / "a"


def test_a_folder_from_elsewhere_does_not_choose_the_cache(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = home / ".cache" / "fedkin"
    Path(NAME).write_text('cache_dir = "/tmp/theirs"')
    assert cache_folder() == usual
    (home / NAME).write_text('cache_dir = "~/mine"')
    assert cache_folder() == home / "mine"
    monkeypatch.setenv("FEDKIN_CACHE", "relative")
    assert cache_folder() == home / "mine"
    monkeypatch.setenv("FEDKIN_CACHE", str(home / "other"))
    assert cache_folder() == home / "other"
    fedkin("methods", "fedavg")
    assert list((home / "other").iterdir())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('data-dir = "x"', "unknown key of .fedkin.toml 'data-dir': did you mean 'data_dir'?"),
        ("data_dir = 3", ".fedkin.toml: data_dir is the path of a folder, not 3"),
        ("data_dir = ", ".fedkin.toml is not valid TOML: "),
        ('data_dir = "gone"', ".fedkin.toml names "),
        ("#" * LARGEST * 2, "it is no settings file"),
    ],
)
def test_a_settings_file_that_is_wrong_is_told(home: Path, text: str, says: str) -> None:
    Path(NAME).write_text(text)
    assert says in told("data")
    Path(NAME).unlink()
    assert fedkin("data").exit_code == 0


@pytest.mark.parametrize("kind", ["pipe", "folder", "large", "no user", "no path"])
def test_a_folder_from_elsewhere_brings_settings_that_are_none(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stands in it waits for nothing, and is told in one sentence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDKIN_DATA", raising=False)
    file = tmp_path / NAME
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        said = {"large": "a" * 70_000, "no user": "~nobody-is-called-so/x", "no path": "a\\u0000b"}
        file.write_text(f'data_dir = "{said[kind]}"')
    if kind == "no user":
        found = data_setting()
        assert found is not None
        assert found.folder == tmp_path / "~nobody-is-called-so/x"
        return
    with pytest.raises(FedkinError, match=r"it is no settings file|is no path"):
        data_setting()
