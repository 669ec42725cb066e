"""What an operator's commands would start and ask, played by tests."""

import json
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
def told(monkeypatch):
    """What a server app was told that ends at once, and well: the configuration of each run."""
    from fedkin.flower.operator import submit  # needs the extra flower

    seen = []

    def app(self, config):
        self.number = "12"
        assert not self.word.exists()
        seen.append(config)
        self.word.write_text(json.dumps({"error": None, "interrupted": False}))

    monkeypatch.setattr(submit.Submitted, "submit", app)
    return seen


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
