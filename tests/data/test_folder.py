"""Which folder the data lie in."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.folder import data_folder


@pytest.fixture(autouse=True)
def nobody_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("FEDKIN_DATA", raising=False)


def test_the_argument_then_the_environment_then_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    assert data_folder(None) is None
    monkeypatch.setenv("FEDKIN_DATA", str(two))
    assert data_folder(None) == two
    assert data_folder(one) == one
    assert data_folder(str(one)) == one


def test_a_home_may_be_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nobody" / "sets").mkdir(parents=True)
    assert data_folder("~/sets") == tmp_path / "nobody" / "sets"


def test_what_is_no_folder_is_told_with_who_named_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "digits.npz"
    file.touch()
    with pytest.raises(FedkinError, match=r"^--data-dir names .*digits\.npz, which is not a fold"):
        data_folder(file)
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path / "gone"))
    with pytest.raises(FedkinError, match=r"^FEDKIN_DATA names .*gone, which is not a folder"):
        data_folder(None)
