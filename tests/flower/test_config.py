"""``fedkin deploy init``: what it writes, what it refuses, and what it says without the extra."""

import importlib.util
import json
import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedkin.cli import deploy
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment
from fedkin.flower import config
from fedkin.flower.operator.site import init
from fedkin.flower.operator.submit import prepared
from tests.engine.small import content as sections
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


def test_a_deployment_in_a_nodes_place_gets_its_first_node_and_the_other_way_round(tmp_path):
    site, north = tmp_path / "site", tmp_path / "site" / "nodes" / "north"
    north.mkdir(parents=True)
    (north / config.NODE).write_text('client = "north"')
    (site / config.DEPLOYMENT).touch()
    for kind, asked, name, meant in (
        (config.NodeConfig, site, config.NODE, north),
        (config.Deployment, north, config.DEPLOYMENT, site),
    ):
        with pytest.raises(FedkinError, match=rf"directory: name a .* such as {meant}$"):
            config.load(kind, asked, name)
    with pytest.raises(FedkinError, match=r"No such file or directory$"):
        config.load(config.NodeConfig, tmp_path, config.NODE)


def test_a_folder_that_is_not_there_gets_the_one_beside_it_that_is(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    (tmp_path / "sito").mkdir()  # holds no deployment
    assert folder.name == "site"
    with pytest.raises(FedkinError, match=r"No such file or directory: did you mean 'site'\?$"):
        config.load(config.Deployment, tmp_path / "sit", config.DEPLOYMENT)
    for other in ("sito", "elsewhere/site", "q"):
        with pytest.raises(FedkinError, match=r"No such file or directory$"):
            config.load(config.Deployment, tmp_path / other, config.DEPLOYMENT)


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
    assert "the extra flower:" in str(done.exception)


def test_configurations_say_what_is_wrong_with_them(tmp_path):
    for text, reason in (
        ('client = "a"\nmax_epsylon = 3', r"unknown key 'max_epsylon': did you mean 'max_epsilon'"),
        ("client = 3", "valid string"),
        ("client =", "not valid TOML"),
        ('client = "a/b"\nsuperlink = "x:1"', "no name for a node"),
        (
            'client = "a"\nsuperlink = "x:1"\nfoo = 1',
            r"toml: unknown key 'foo': the keys are client",
        ),
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


DEPLOYED = {"address": "127.0.0.1:9", "clients": ("a",)}
HERE = {"client": "a", "superlink": "127.0.0.1:9"}


@pytest.mark.parametrize(
    ("name", "fine", "refused"),
    [
        ("deadline", (0.5, 601), (0, -1, math.inf, True)),
        ("soft_deadline", (0.5,), (0, -1, math.nan)),
        ("quorum", (1,), (0, -1, 1.5)),
        ("wait", (0.5, 601), (0, -1, math.inf)),
        ("poll", (0.01,), (0, -1)),
        ("max_bytes", (1,), (0, -1)),
    ],
)
def test_numbers_of_a_deployment_have_bounds(name, fine, refused):
    for value in fine:
        found = config.made(config.Deployment, "here", {**DEPLOYED, name: value})
        assert getattr(found, name) == value
    for value in refused:
        with pytest.raises(FedkinError, match=f"^here: {name}: "):
            config.made(config.Deployment, "here", {**DEPLOYED, name: value})


def test_a_round_closes_early_or_at_its_deadline():
    def made(**given):
        return config.made(config.Deployment, "here", {**DEPLOYED, **given})

    assert made(soft_deadline=5, deadline=9, quorum=0.5).quorum == 0.5
    for soft in (9, 10):
        with pytest.raises(
            FedkinError, match=rf"soft_deadline={soft} must be less than deadline=9"
        ):
            made(soft_deadline=soft, deadline=9)
    with pytest.raises(FedkinError, match=r"quorum=0\.5 needs soft_deadline"):
        made(quorum=0.5)


def test_what_is_not_said_is_what_the_documentation_says():
    there = config.made(config.Deployment, "", DEPLOYED)
    assert (there.deadline, there.soft_deadline, there.quorum) == (600, None, 1)
    assert (there.wait, there.poll, there.own_data) == (600, 0.2, True)
    here = config.made(config.NodeConfig, "", HERE)
    assert (here.port, here.state, here.data) == (9094, "state", None)
    assert there.max_bytes == here.max_bytes == 256 << 20
    assert config.made(config.NodeConfig, "", {**HERE, "max_bytes": 1}).max_bytes == 1
    with pytest.raises(FedkinError, match=r"^: max_bytes: "):
        config.made(config.NodeConfig, "", {**HERE, "max_bytes": 0})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"clients": ()}, "clients is empty: name a node at least"),
        ({"clients": ("a", "b", "a")}, "clients has 'a' 2 times: name each node once"),
        ({"newcomers": ("b", "c", "c", "c")}, "newcomers has 'c' 3 times: name each node once"),
        ({"clients": ("a", "b"), "newcomers": ("b",)}, None),  # one that became a client
    ],
)
def test_a_node_stands_once(names, said):
    """One that stood twice was two clients, with one node's data for both."""
    told = {**DEPLOYED, **names}
    if said is None:
        assert config.made(config.Deployment, "here", told).newcomers == ("b",)
        return
    with pytest.raises(FedkinError) as found:
        config.made(config.Deployment, "here", told)
    assert str(found.value) == f"here: {said}"


def test_a_configuration_has_nothing_else_and_stays_what_it_is():
    for kind, content in ((config.Deployment, DEPLOYED), (config.NodeConfig, HERE)):
        with pytest.raises(FedkinError, match=r"^: unknown key 'strange': "):
            config.made(kind, "", {**content, "strange": 1})
        with pytest.raises(ValueError, match="frozen"):
            config.made(kind, "", content).insecure = True


def test_addresses_are_checked_whatever_else_is_said():
    for kind, content, name in (
        (config.Deployment, DEPLOYED, "address"),
        (config.NodeConfig, HERE, "superlink"),
    ):
        with pytest.raises(FedkinError, match="is not host:port"):
            config.made(kind, "", {**content, name: "nowhere"})
        away = {**content, name: "10.1.2.3:9"}
        assert not config.made(kind, "", away).insecure
        with pytest.raises(FedkinError, match=r"^here: insecure is for this machine alone"):
            config.made(kind, "here", {**away, "insecure": True})
    with pytest.raises(FedkinError, match="insecure is for this machine alone, and 10"):
        config.made(config.Deployment, "", {**DEPLOYED, "listen": "10.1.2.3", "insecure": True})


def test_a_sockets_path_may_have_a_hundred_bytes(short_path):
    node = config.made(config.NodeConfig, "", {**HERE, "state": "s"})
    left = 100 - len(str(short_path / "x" / "s" / "host.socket")) + 1
    assert left > 0
    assert len(str(config.socket_of(short_path / ("é" + "x" * (left - 2)), node)).encode()) == 100
    with pytest.raises(FedkinError, match="too long for the path of a socket"):
        config.socket_of(short_path / ("é" + "x" * (left - 1)), node)


def test_every_run_of_flower_has_files_of_its_own(tmp_path):
    assert config.ended_of(tmp_path, "12").name == "ended-12.json"
    assert config.stop_of(tmp_path, "12").name == "stop-12"


def test_the_order_of_a_methods_options_is_no_other_experiment():
    told = sections("persfl", run__clients=2, run__participation=1.0)
    turned = {**told, "method": dict(reversed(list(told["method"].items())))}
    one, other = experiment(told), experiment(turned)
    assert list(one.method.options) != list(other.method.options)
    assert config.fingerprint(one) == config.fingerprint(other)


def test_a_public_file_lies_beside_the_experiment_that_names_it(tmp_path):
    def named(source):
        return config.at_home(experiment(sections("comet", public__source=source)), tmp_path)

    assert named("common.npz").public.source == "common.npz"
    (tmp_path / "common.npz").touch()
    assert named("common.npz").public.source == str(tmp_path / "common.npz")
    for other in ("digits", "/elsewhere/common.npz"):
        assert named(other).public.source == other


PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [config.Deployment, config.NodeConfig])
def test_the_page_has_every_key_with_its_default(kind):
    name = config.DEPLOYMENT if kind is config.Deployment else config.NODE
    table = PAGE.split(f"<!-- {name} -->\n")[1].split("\n\n")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\|", table, re.MULTILINE))
    assert list(told) == list(kind.model_fields)
    for key, field in kind.model_fields.items():
        if field.is_required():
            assert told[key] == ""
        elif field.default is None:
            assert told[key] in ("none", "host of `address`")
        else:
            given = list(field.default) if isinstance(field.default, tuple) else field.default
            assert json.loads(told[key]) == given
