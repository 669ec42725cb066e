"""States in memory and on disk behave alike; a file is there as a whole or not at all."""

import errno
from pathlib import Path

import pytest
import torch

from fedkin.engine.codec import encode
from fedkin.engine.store import STORES, StoreError, read_state

STATE = {
    "theta": {"weight": torch.arange(4.0), "half": torch.ones(2).half()},
    "cluster": 3,
    "loss": float("inf"),
}


@pytest.mark.parametrize("kind", STORES)
def test_store(kind, tmp_path):
    store = STORES[kind](tmp_path / "state")
    assert store.get(0) is None
    for client in (10, 2):
        store.put(client, {**STATE, "cluster": client})
    store.put(2, STATE)
    assert encode(store.get(2)) == encode(STATE)
    assert store.get(10)["cluster"] == 10
    assert store.get(3) is None


def test_disk_leaves_one_file_a_client(tmp_path):
    store = STORES["disk"](tmp_path)
    for number in range(3):
        store.put(7, {**STATE, "cluster": number})
    assert [path.name for path in tmp_path.iterdir()] == ["7.safetensors"]


def test_a_full_disk_under_the_store(tmp_path, monkeypatch):
    store = STORES["disk"](tmp_path)
    store.put(1, STATE)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreError, match="No space left"):
        store.put(1, {})
    assert encode(store.get(1)) == encode(STATE)


@pytest.mark.parametrize(
    "damage", [lambda blob: b"", lambda blob: blob[:-1], lambda blob: b"\x80" + blob[1:]]
)
def test_damaged_and_missing_states_are_named(damage, tmp_path):
    path = tmp_path / "3.7.safetensors"
    with pytest.raises(StoreError, match=r"3\.7\.safetensors is gone, and a model with it"):
        read_state(path)
    path.write_bytes(damage(encode(STATE)))
    with pytest.raises(StoreError, match=r"3\.7\.safetensors is damaged"):
        read_state(path)
