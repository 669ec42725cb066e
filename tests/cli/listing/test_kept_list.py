"""A list that takes long to make, kept in the user's cache."""

import json

import pytest

from fedkin.cli.listing import kept_list
from fedkin.cli.listing.kept_list import LARGEST, kept
from fedkin.core.errors import FedkinError


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setattr(kept_list, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(kept_list, "installed", lambda group: [])
    monkeypatch.setattr(kept_list, "_digest", lambda: "one")
    return tmp_path / "lists"


class Made:
    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return [{"n": self.times}]


def test_it_is_made_once_until_a_source_changes(cache, monkeypatch) -> None:
    made = Made()
    assert [kept("methods", made) for _ in range(3)] == [[{"n": 1}]] * 3
    kept("data", made)
    monkeypatch.setattr(kept_list, "_digest", lambda: "two")
    assert kept("methods", made) == [{"n": 3}]
    assert sorted(path.name for path in cache.iterdir()) == ["data-one.json", "methods-two.json"]


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" + b" " * LARGEST + b"]"])
def test_what_is_damaged_is_made_again(content, cache) -> None:
    made = Made()
    kept("methods", made)
    (cache / "methods-one.json").write_bytes(content)
    assert kept("methods", made) == [{"n": 2}]
    assert json.loads((cache / "methods-one.json").read_text()) == [{"n": 2}]


def test_methods_of_others_may_change_unseen(cache, monkeypatch) -> None:
    monkeypatch.setattr(kept_list, "installed", lambda group: [group])
    made = Made()
    assert [kept("methods", made), kept("methods", made)] == [[{"n": 1}], [{"n": 2}]]
    assert not cache.exists()


def test_without_a_home_or_room_it_is_made_each_time(cache, monkeypatch) -> None:
    made = Made()

    def full(path, content):
        raise OSError("no space left")

    monkeypatch.setattr(kept_list, "write_file", full)
    assert [kept("methods", made), kept("methods", made)] == [[{"n": 1}], [{"n": 2}]]
    for error in (RuntimeError("no home"), FedkinError("no settings")):

        def nowhere(error=error):
            raise error

        monkeypatch.setattr(kept_list, "cache_folder", nowhere)
        assert kept("methods", Made()) == [{"n": 1}]


def test_an_edit_of_a_source_is_another_digest(monkeypatch, tmp_path) -> None:
    (tmp_path / "methods").mkdir()
    source = tmp_path / "methods" / "a.py"
    source.write_text("a = 1")
    monkeypatch.setattr(kept_list.fedkin, "__file__", str(tmp_path / "__init__.py"))
    before = kept_list._digest()
    assert kept_list._digest() == before
    source.write_text("a = 10")
    assert kept_list._digest() != before
