"""Tests that need the extra ``flower`` are marked so, and run by scripts/test-flower."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WITHOUT = "test_node.py"  # a node's host does not import flwr
if importlib.util.find_spec("flwr") is None:
    collect_ignore = [path.name for path in HERE.glob("test_*.py") if path.name != WITHOUT]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and item.path.name != WITHOUT:
            item.add_marker(pytest.mark.flower)


@pytest.fixture(scope="module")
def running():
    """Four nodes on loopback, TLS and authentication on."""
    from tests.flower.cluster import cluster, experiment

    with cluster(experiment("fedavg")) as started:
        yield started
