"""Tests with real processes are marked so, for scripts/test-flower; the others only want the extra
``flower``.
"""

import importlib.util
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WITHOUT = "test_node.py"  # a node's host does not import flwr
THERE = importlib.util.find_spec("flwr") is not None


class Lacking(pytest.Module):
    """A module that cannot be imported here."""

    def collect(self):
        pytest.skip("needs the extra flower: pip install '.[flower]'", allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    if not THERE and HERE in module_path.parents and module_path.name != WITHOUT:
        return Lacking.from_parent(parent, path=module_path)
    return None


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and item.path.name.startswith("test_real_"):
            item.add_marker(pytest.mark.flower)


# What shares a cluster stays in one process; the other files follow each other, so that no more
# than two clusters look for work at a time: looking alone takes a cluster of four a third of a
# core.
TOGETHER = {
    "test_real_parity_more.py": "test_real_parity.py",
    "test_real_killed.py": "test_real_replies.py",
    "test_real_resume.py": "test_real_replies.py",
}


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            name = Path(nodeid.partition("::")[0]).name
            return TOGETHER.get(name, name)

    return ByFile(config, log)


@pytest.fixture
def short_path():
    """A folder whose nodes' sockets have a path that the system takes, wherever tests run."""
    with tempfile.TemporaryDirectory(prefix="fk-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def running():
    """Four nodes on loopback, TLS and authentication on."""
    from tests.flower.cluster import cluster, experiment

    with cluster(experiment("fedavg")) as started:
        yield started
