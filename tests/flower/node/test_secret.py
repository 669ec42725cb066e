"""A node's secret: nobody can confirm a guess of its data."""

import hashlib
import stat

import numpy as np
import pytest

from fedkin.flower.node.data import facts_of, read
from tests.engine.small import small
from tests.flower.node.test_host import ask, made, request

pytest.importorskip("flwr")


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=3)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


def test_nobody_can_confirm_a_guess_of_a_nodes_data(tmp_path):
    spec = small("fedavg", run__clients=2, run__participation=1.0)
    digests = {}
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        np.savez(
            folder / "data.npz", x_train=np.eye(4, dtype=np.float32), y_train=np.array([1, 0, 2, 1])
        )
        node = made(folder, spec, data="data.npz")
        hello = request(spec, steps=(), place=None)
        digests[name] = ask(node, hello)[0].facts.digest
        assert ask(made(folder, spec, data="data.npz"), hello)[0].facts.digest == digests[name]
        salt = node.state / "salt"
        assert stat.S_IMODE(salt.stat().st_mode) == 0o600
        guess = read(folder / "data.npz")
        assert facts_of(guess, 0).digest not in digests.values()
        assert hashlib.sha256(salt.read_bytes()).hexdigest() not in digests.values()
    assert digests["a"] != digests["b"]
