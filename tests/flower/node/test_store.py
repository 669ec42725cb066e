"""What a node keeps on its disk."""

import errno
import hashlib
import json

import pytest

from fedkin.engine.store import StoreError
from fedkin.flower.node import store
from fedkin.flower.node.store import MODEL, Commit, Damaged, NodeStore


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
    monkeypatch.setattr("fedkin.core.files.sync_folder", synced.append)
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


def test_a_round_that_was_done_with_two_messages_has_two_commits(tmp_path):
    """One of them is in the place that a single one has."""
    node_store = NodeStore(tmp_path)
    one, two = (Commit(key * 64, key.encode(), b"up", {}) for key in "ab")
    for commit in (one, two, one, two):
        node_store.put(3, commit)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"3-{'b' * 32}.commit", "3.commit"]  # fmt: skip
    assert node_store.find(3) == one
    for commit in (one, two):
        assert node_store.find(3, lambda found, key=commit.key: found.key == key) == commit
    assert node_store.find(3, lambda _: False) is None
    node_store.put(30, two)
    node_store.forget(4)
    assert [path.name for path in tmp_path.iterdir()] == ["30.commit"]
    (tmp_path / f"30-{'a' * 32}.commit").write_bytes(b"half")
    with pytest.raises(StoreError, match=r"30-a+\.commit is damaged"):
        node_store.find(30, lambda found: found.key == one.key)


def test_a_damaged_commit_hides_no_other_one_of_its_round(tmp_path, capsys):
    node_store = NodeStore(tmp_path)
    one, two = (Commit(key * 64, key.encode(), b"up", {}) for key in "ab")
    for commit in (one, two):
        node_store.put(3, commit)
    assert node_store.find(3, lambda found: found.key == two.key) == two
    assert capsys.readouterr().err == ""
    (tmp_path / "3.commit").write_bytes(b"half")
    assert node_store.find(3, lambda found: found.key == two.key) == two
    said = capsys.readouterr().err
    assert said.startswith(f"skipped: {tmp_path / '3.commit'} is damaged")
    assert said.count("\n") == 1
    # every request has a store of its own, and would come upon the file again
    assert NodeStore(tmp_path).find(3, lambda found: found.key == two.key) == two
    assert capsys.readouterr().err == ""
    with pytest.raises(StoreError, match=r"3\.commit is damaged"):  # it may be the one
        node_store.find(3, lambda found: found.key == one.key)


def test_a_round_whose_first_commit_is_damaged_is_written_again(tmp_path, capsys):
    """The damaged file stays until its round is forgotten: it may be another message's."""
    node_store = NodeStore(tmp_path)
    one, two = (Commit(key * 64, key.encode(), b"up", {}) for key in "ab")
    for spoil in (b"", b"half", b"null\n", b'{"key": 3}\n'):
        store._said.cache_clear()
        node_store.put(3, one)
        (tmp_path / "3.commit").write_bytes(spoil)
        for commit in (one, two, one):
            node_store.put(3, commit)
            assert node_store.find(3, lambda found, key=commit.key: found.key == key) == commit
        assert (tmp_path / "3.commit").read_bytes() == spoil
        assert f"skipped: {tmp_path / '3.commit'} is damaged" in capsys.readouterr().err
        node_store.forget(4)
        assert not list(tmp_path.iterdir())
    (tmp_path / "3.commit").mkdir()
    node_store.put(3, two)
    assert node_store.find(3) == two


@pytest.mark.parametrize(
    "head", [b"null", b"[1]", b'{"key": 3}', b"\xff", b"[" * 100_000, b"1" * 9_000]
)
def test_a_head_of_anything_is_a_damaged_one(head, tmp_path):
    (tmp_path / "3.commit").write_bytes(head + b"\n")
    with pytest.raises(StoreError, match=r"3\.commit is damaged"):
        NodeStore(tmp_path).find(3)


def test_a_head_without_its_numbers_is_a_damaged_one(tmp_path):
    whole = {"key": "a", "state": 0, "message": False, "told": {}}
    for name, other in (("state", "0"), ("key", 3), ("told", []), ("state", 1.5), ("state", -1)):
        spoilt = {**whole, name: other}
        sha = hashlib.sha256(json.dumps([*spoilt.values()]).encode()).hexdigest()
        (tmp_path / "3.commit").write_text(json.dumps({**spoilt, "sha256": sha}) + "\n")
        with pytest.raises(StoreError, match=r"3\.commit is damaged: its first line is not one"):
            NodeStore(tmp_path).find(3)


def test_no_byte_of_a_commit_changes_unnoticed(tmp_path):
    """Its weight is not of the state, but of the federation's mean."""
    commit = Commit("a" * 64, b"state", b"up", {"weight": 120.0, "seconds": 0.1, "took_part": [1]})
    NodeStore(tmp_path).put(3, commit)
    written = (tmp_path / "3.commit").read_bytes()
    assert NodeStore(tmp_path).find(3) == commit
    for at, byte in enumerate(written):
        for other in {b"1"[0], b" "[0], byte ^ 1} - {byte}:
            spoilt = written[:at] + bytes([other]) + written[at + 1 :]
            (tmp_path / "3.commit").write_bytes(spoilt)
            try:
                found = NodeStore(tmp_path).find(3)
            except Damaged:
                continue
            assert found == commit  # blanks between two entries say nothing


def test_a_disk_that_removes_nothing_is_said(tmp_path, monkeypatch):
    NodeStore(tmp_path).put(1, Commit("", b"", None, {}))

    def stuck(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.unlink", stuck)
    with pytest.raises(StoreError, match=r"1\.commit cannot be removed: Read-only file system"):
        NodeStore(tmp_path).forget(2)


def test_the_model_of_a_run_is_the_last_that_was_put(tmp_path):
    node_store = NodeStore(tmp_path)
    for key in ("one", "two"):
        node_store.put(MODEL, Commit(key, b"", None, {}))
    assert [path.name for path in tmp_path.iterdir()] == ["model.commit"]
    assert node_store.find(MODEL).key == "two"


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


@pytest.mark.parametrize("left", [b"", b"short", bytes(33)])
def test_a_salt_that_is_damaged_hides_nothing_and_is_refused(left, tmp_path):
    """Under an empty one everybody could tell whether a guess of the node's data is right."""
    store.salt_of(tmp_path)
    (tmp_path / store.SALT).write_bytes(left)
    with pytest.raises(StoreError, match="salt is damaged: put it back as it was"):
        store.salt_of(tmp_path)


def test_what_a_killed_host_left_half_written_goes_with_its_round(tmp_path):
    node_store = NodeStore(tmp_path)
    for name in ("3.commit.77.part", f"3-{'b' * 32}.commit.77.part", "4.commit.77.part"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / f"{MODEL}.commit").write_bytes(b"whole")
    node_store.forget(4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4.commit.77.part", "model.commit"]
