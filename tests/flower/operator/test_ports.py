"""A node that is added has a port of its own, whatever became of those before it."""

import shutil

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower import config
from fedkin.flower.operator.ports import next_port
from fedkin.flower.operator.site import add, init
from tests.engine.small import small

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


def node_of(folder, name):
    return config.load(config.NodeConfig, folder / "nodes" / name, config.NODE)


def test_a_node_that_is_added_has_a_port_that_no_other_ever_had(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    add(folder, "late")
    # north's key was lost: its name is taken out, and other folders were carried away
    settings = folder / config.DEPLOYMENT
    settings.write_text(settings.read_text().replace('"north",', ""))
    shutil.rmtree(folder / "nodes")
    add(folder, "north")
    assert node_of(folder, "north").port == 9104
    own = folder / "nodes" / "north" / config.NODE
    own.write_text(own.read_text().replace("9104", "9200"))
    add(folder, "later")
    assert node_of(folder, "later").port == 9201
    (folder / "next_port").write_text("x")
    with pytest.raises(FedkinError, match="next_port is no number: write one above"):
        add(folder, "last")


def test_after_the_last_port_one_is_asked_for(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    add(folder, "late", port=65535)
    with pytest.raises(FedkinError, match=r"site has had port 65535, .* \(--port\)$"):
        add(folder, "later")
    add(folder, "later", port=9300)
    assert node_of(folder, "later").port == 9300


def test_a_newcomer_that_became_a_client_counts_once(tmp_path):
    asked = {"address": "127.0.0.1:9", "clients": ("north", "late"), "newcomers": ("late", "last")}
    deployment = config.Deployment(**asked, node_port=9100)
    assert deployment.names == ("north", "late", "last")
    assert next_port(tmp_path, deployment) == 9103
