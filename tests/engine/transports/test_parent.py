"""A pool's workers end with their parent."""

import os

import pytest

from fedkin.engine.transports import parent


class Gone:
    def join(self) -> None:
        pass


def test_it_ends_when_its_parent_does(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(parent, "parent_process", Gone)
    parent._wait()
    assert ended == [1]


def test_who_has_no_parent_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    parent.end_with_parent()
    parent._wait()
    assert ended == []
