"""Hooks for all tests: the evidence for certificates, and a memory of their own for whom a person
trusts.
"""

import pytest

from tests.evidence import pytest_addoption, pytest_collection_modifyitems, pytest_configure

__all__ = ["pytest_addoption", "pytest_collection_modifyitems", "pytest_configure"]


@pytest.fixture(autouse=True, scope="session")
def nobody_elses_memory(tmp_path_factory):
    """No test reads or changes what the person who runs the tests has trusted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("memory")))
        yield
