"""What a node keeps on its disk."""

import errno

import pytest

from fedkin.engine.store import StoreError
from fedkin.flower.node import store
from fedkin.flower.node.store import MODEL, Commit, NodeStore


def test_a_damaged_commit_is_said_to_be_damaged(tmp_path):
    node_store = NodeStore(tmp_path)
    node_store.put(3, Commit("key", b"state", b"message", {"weight": 2.0}))
    assert node_store.find(3) == Commit("key", b"state", b"message", {"weight": 2.0})
    assert node_store.find(2) is None
    path = tmp_path / "3.commit"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match="damaged"):
        node_store.find(3)


def test_what_is_kept_comes_back_as_it_was(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(store, "sync", synced.append)
    node_store = NodeStore(tmp_path / "deep" / "run")
    for message in (None, b"", b"up"):
        commit = Commit("key", b"state", message, {"weight": 2.0})
        node_store.put(3, commit)
        assert node_store.find(3) == commit
    assert synced == [tmp_path / "deep" / "run"] * 3  # a file's name is on the disk too
    path = tmp_path / "deep" / "run" / "3.commit"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"state", b"stale").replace(b'"stale"', b'"state"'))
    with pytest.raises(StoreError, match="damaged: its bytes are not those that were written"):
        node_store.find(3)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match=r"3\.commit cannot be read: Is a directory"):
        node_store.find(3)


def test_rounds_before_one_are_forgotten_and_the_model_is_not(tmp_path):
    node_store = NodeStore(tmp_path)
    for which in (1, 2, 10, MODEL):
        node_store.put(which, Commit("", b"", None, {}))
    node_store.forget(2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "10.commit", "2.commit", "model.commit"]  # fmt: skip


def test_a_salt_that_a_full_disk_kept_out_is_made_later(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("fedkin.core.files.os.fsync", full)
        with pytest.raises(StoreError, match=r"state cannot be written: No space left"):
            store.salt_of(tmp_path / "state")
    assert len(store.salt_of(tmp_path / "state")) == 32
