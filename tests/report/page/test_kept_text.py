"""A text that is made once."""

from pathlib import Path

import pytest

from fedkin.report.page import kept_text as module
from fedkin.report.page.kept_text import kept_text


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "page"


def test_it_is_made_once_a_name(cache: Path) -> None:
    made = iter(["one", "two", "three"])
    assert [kept_text("a", lambda: next(made)) for _ in range(3)] == ["one"] * 3
    assert kept_text("b", lambda: next(made)) == "two"


def test_what_is_empty_or_no_text_is_made_again(cache: Path) -> None:
    kept_text("a", lambda: "whole")
    for content in (b"", b"\xff\xfe\xff"):
        (cache / "a").write_bytes(content)
        assert kept_text("a", lambda: "again") == "again"


def test_a_folder_that_others_write_to_is_not_read(cache: Path) -> None:
    kept_text("a", lambda: "ours")
    (cache / "a").write_text("theirs")
    cache.chmod(0o777)
    assert kept_text("a", lambda: "ours") == "ours"
