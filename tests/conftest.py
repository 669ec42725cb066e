"""Hooks for all tests: the evidence for certificates, and a memory of their own for whom a person
trusts.
"""

import sys

import pytest

from tests import evidence, rotation
from tests.evidence import pytest_addoption, pytest_collection_modifyitems

__all__ = ["pytest_addoption", "pytest_collection_modifyitems"]


def pytest_configure(config: pytest.Config) -> None:
    evidence.pytest_configure(config)
    config.pluginmanager.register(rotation, "rotation")


@pytest.fixture(autouse=True, scope="session")
def nobody_elses_memory(tmp_path_factory):
    """No test reads or changes what the person who runs the tests has trusted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("memory")))
        yield


@pytest.fixture
def own_modules(tmp_path):
    """What a test imports from its folder is forgotten after it: others write the same names."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
