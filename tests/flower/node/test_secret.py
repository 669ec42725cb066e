"""A node's secret: nobody can confirm a guess of its data."""

import hashlib
import os
import stat

import numpy as np
import pytest

from fedkin.flower.node.data import facts_of, read
from fedkin.flower.node.secret import secret_at, states_key
from fedkin.flower.node.store import salt_of
from fedkin.runs.spec import parse
from tests.engine.small import content, small
from tests.flower.node.test_host import ask, made, request

pytest.importorskip("flwr")

NOISE = {"noise": 1.0, "clip": 1.0, "delta": 1e-5}


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


def test_a_folder_of_secrets_is_its_owners_and_a_secret_is_never_drawn_anew(tmp_path):
    given = {"noise": 1.0, "clip": 1.0, "delta": 1e-5, "where": "client"}
    spec = parse({**content("fedavg"), "privacy": given})[0]
    before = os.umask(0)
    try:
        salt, again = (salt_of(tmp_path / "deep" / "a") for _ in range(2))
        first, second = (secret_at(tmp_path / "deep" / "b", spec, run) for run in ("x", "y"))
    finally:
        os.umask(before)
    for name in "ab":
        assert (tmp_path / "deep" / name).stat().st_mode & 0o777 == 0o700
    assert salt == again
    assert len(salt) == 32
    assert salt != salt_of(tmp_path / "other")
    assert first.key != second.key
    assert secret_at(tmp_path / "deep" / "b", spec, "x").key == first.key
    rows = {secret_at(tmp_path / "deep" / "b", spec, "x", data).key for data in ("", "one", "two")}
    assert len(rows) == 3
    assert secret_at(tmp_path, small("fedavg"), "x") is None


@pytest.mark.parametrize(
    ("privacy", "keyed"),
    [
        ({}, False),
        ({**NOISE, "where": "server"}, False),  # who is sent what a state is trained to
        ({**NOISE, "where": "client", "seeded": True}, False),
        ({"secure_aggregation": True, "seeded": True}, False),
        ({**NOISE, "where": "client"}, True),
        ({**NOISE, "unit": "sample", "personal": "plain"}, True),
        ({"secure_aggregation": True}, True),
    ],
)
def test_states_have_names_of_their_own_where_a_node_hides_what_it_sends(privacy, keyed, tmp_path):
    spec = parse({**content("ditto"), "privacy": privacy})[0]
    keys = [states_key(tmp_path / name, spec, run) for name in "ab" for run in ("x", "y", "y")]
    assert all(len(key) == (32 if keyed else 0) for key in keys)
    assert len(set(keys)) == (4 if keyed else 1)
