"""``fedkin deploy init``: what it writes, what it refuses, and what it says without the extra."""

import importlib.util

import pytest
from typer.testing import CliRunner

from fedkin.cli import deploy
from fedkin.core.errors import FedkinError
from fedkin.flower import config
from fedkin.flower.operator.site import init
from fedkin.flower.operator.submit import prepared
from tests.engine.small import small

NAMES = ("north", "south")
SPEC = small("fedavg", run__clients=2, run__participation=1.0)


def test_run_directories_are_numbered(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    with pytest.raises(FedkinError, match="no run to resume"):
        prepared(folder, True)
    assert prepared(folder, False)[1].name == "1"
    (folder / "runs" / "7").mkdir()
    assert prepared(folder, False)[1].name == "8"
    assert prepared(folder, True)[1].name == "7"


def test_a_changed_experiment_is_another_experiment():
    same = small(
        "fedavg",
        run__clients=2,
        run__participation=1.0,
        engine__name="processes",
        run__commit_every=9.0,
    )
    assert config.fingerprint(same) == config.fingerprint(SPEC)
    for key, value in {
        "train__lr": 0.06,
        "run__seed": 9,
        "run__rounds": 4,
        "model__name": "dnn",
    }.items():
        other = small("fedavg", run__clients=2, run__participation=1.0, **{key: value})
        assert config.fingerprint(other) != config.fingerprint(SPEC)


@pytest.mark.parametrize("verb", ["init", "run", "node", "superlink", "add", "join"])
def test_without_the_extra_its_name_is_said(verb, monkeypatch, tmp_path):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "flwr" else find(name)
    )
    more = {"init": ["--spec", "none.toml", "--clients", "a"], "add": ["a"], "join": ["a"]}
    done = CliRunner().invoke(deploy.app, [verb, str(tmp_path), *more.get(verb, [])])
    assert isinstance(done.exception, FedkinError)
    assert "fedkin[flower]" in str(done.exception)


def test_configurations_say_what_is_wrong_with_them(tmp_path):
    for text, reason in (
        ("client = 3", "valid string"),
        ("client =", "not valid TOML"),
        ('client = "a/b"\nsuperlink = "x:1"', "no name for a node"),
        ('client = "a"\nsuperlink = "x:1"\nfoo = 1', "Extra inputs"),
    ):
        (tmp_path / config.NODE).write_text(text)
        with pytest.raises(FedkinError, match=reason):
            config.load(config.NodeConfig, tmp_path, config.NODE)
    with pytest.raises(FedkinError, match=r"too long for the path"):
        config.socket_of(tmp_path / ("x" * 90), config.NodeConfig(client="a", superlink="x:1"))


def test_what_a_file_does_not_say_is_secure(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9", insecure=True)
    for kind, place, name in (
        (config.NodeConfig, folder / "nodes" / "north", config.NODE),
        (config.Deployment, folder, config.DEPLOYMENT),
    ):
        assert config.load(kind, place, name).insecure
        text = (place / name).read_text()
        (place / name).write_text(text.replace("insecure = true\n", ""))
        assert not config.load(kind, place, name).insecure
