"""What a node keeps on its disk."""

import pytest

from fedkin.engine.store import StoreError
from fedkin.flower.node.store import Commit, NodeStore


def test_a_damaged_commit_is_said_to_be_damaged(tmp_path):
    node_store = NodeStore(tmp_path)
    node_store.put(3, Commit("key", b"state", b"message", {"weight": 2.0}))
    assert node_store.find(3) == Commit("key", b"state", b"message", {"weight": 2.0})
    assert node_store.find(2) is None
    path = tmp_path / "3.commit"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match="damaged"):
        node_store.find(3)
