"""What an operator's commands would start and ask, played by tests."""

import subprocess

import pytest

from tests.flower.operator.programs import Keeper, Programs


@pytest.fixture
def programs(monkeypatch):
    """Flower's programs; none of them runs."""
    found = Programs()
    monkeypatch.setattr(subprocess, "run", found.run)
    return found


@pytest.fixture
def kept(monkeypatch):
    """The keepers of programs that a supervisor made, in turn."""
    from fedkin.flower.operator import supervisor  # needs the extra flower

    seen: list[Keeper] = []

    def made(*told):
        seen.append(Keeper(*told))
        return seen[-1]

    monkeypatch.setattr(supervisor, "Keeper", made)
    return seen
