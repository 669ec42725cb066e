"""Each node may hold a model of its own, even one that is no torch module: the server never sees
it.
"""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment as checked
from fedkin.experiment.run import run
from fedkin.export.opened_run import Opened
from fedkin.flower import config, server
from fedkin.flower.node.host import Node
from fedkin.flower.node.model import exportable
from fedkin.runs.database import read_only
from fedkin.setup.build import assemble
from tests.flower.cluster import experiment, result
from tests.flower.fleet import NAMES, Fleet

EXAMPLE = Path(__file__).parents[2] / "examples" / "other_models"
OWN = "sk_linear:Linear"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))


def deployed(folder: Path, method: str) -> Fleet:
    """Four nodes with the rows of the experiment's data; every second one has its own model."""
    digits = assemble(experiment("fedavg")).population
    public = folder / "public.npz"
    np.savez(public, x=digits.x[::9].numpy(), y=digits.y[::9].numpy())
    fleet = Fleet(folder, spec(method, public), own_data=True)
    people = assemble(spec(method, public)).population
    for client, name in enumerate(NAMES):
        parts = {part: people.part(client, part) for part in ("train", "val", "test")}
        named = {
            f"{k}_{part}": v.numpy()
            for part, xy in parts.items()
            for k, v in zip("xy", xy, strict=True)
        }
        node = fleet.folder / "nodes" / name
        np.savez(node / "data.npz", **named)
        if client % 2:
            found = config.load(config.NodeConfig, node, config.NODE).model_copy(
                update={"model": OWN}
            )
            (node / config.NODE).write_text(config.text_of(found))
            fleet.nodes[name] = Node(node)
    return fleet


def spec(method: str, public: Path, **model):
    plain = experiment(method, run__rounds=2, public__source=str(public), public__samples=40)
    return checked({**plain.model_dump(exclude_none=True), "model": model or {"name": "mlr"}})


def test_the_server_needs_no_model_of_theirs(tmp_path, monkeypatch):
    fleet = deployed(tmp_path, "comet")
    built = []
    around = server.FlowerBackend.assemble

    def watched(self, spec, method):
        parts = around(self, spec, method)
        built.append(set(parts.models))
        return parts

    monkeypatch.setattr(server.FlowerBackend, "assemble", watched)
    found = result(fleet.run())
    assert built == [{"mlr"}]
    assert not found["events"]
    with read_only(fleet.out) as database:
        held = [
            name for (name,) in database.rows("SELECT architecture FROM clients ORDER BY client")
        ]
    assert held == ["mlr", OWN] * 2
    both = spec("comet", tmp_path / "public.npz", map={"net": "mlr", "other": OWN}, rule="turn")
    plain = result(run(both, tmp_path / "plain"))
    assert found["fingerprint"] == plain["fingerprint"]
    assert found["metrics"] == plain["metrics"]
    there = Opened(tmp_path / "plain")
    for client, name in enumerate(NAMES):
        here = exportable(fleet.folder / "nodes" / name)
        x = here.samples()
        assert here.personal(x).equal(there.personal(there.member(client))(x))
        assert here.card()["architecture"] == held[client]


def test_methods_that_send_parameters_refuse_a_model_of_ones_own(tmp_path):
    fleet = deployed(tmp_path, "fedavg")
    with pytest.raises(
        FedkinError, match="fedavg needs everybody's parameters: sk_linear:Linear is none"
    ):
        fleet.run()
