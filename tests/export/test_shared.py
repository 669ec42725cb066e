"""Which methods have a model that the server alone can give, and that model of a simulation."""

import json

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.export.export import export
from fedkin.export.exportable import exportable as of_one
from fedkin.export.opened_run import Opened
from fedkin.export.shared import SAMPLES, SHARED, Served, made_up, shared, shared_view
from fedkin.models.user_models import allow
from fedkin.setup.build import assemble
from tests.awkward import population
from tests.cli.command import fedkin, told
from tests.engine.small import small


def begun(method: str, **settings):
    parts = assemble(small(method, **settings))
    return parts, parts.method.server(parts.federation.start)


@pytest.mark.parametrize(
    "method", ["fedavg", "scaffold", "feddyn", "moon", "ditto", "finetune", "apfl", "knn_per"]
)
def test_the_shared_model_comes_of_the_servers_state_alone(method: str) -> None:
    parts, state = begun(method)
    view = shared_view(parts.method, state, parts.models, parts.infos)
    (model,) = parts.models.values()
    assert parts.method.predict(model, view, parts.population.x[:5]).shape[0] == 5


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("local", "no view 'global'"),
        ("fedper", "no view 'global'"),
        ("per_fedavg", "of a client's samples"),
        ("ifca", "of a client's samples"),
        ("fedbabu", "a part of it stays at the client"),
    ],
)
def test_other_methods_have_none(method: str, why: str) -> None:
    parts, state = begun(method)
    with pytest.raises(LookupError, match=why):
        shared_view(parts.method, state, parts.models, parts.infos)


def test_a_model_of_a_group_is_not_everybodys() -> None:
    parts, state = begun("fedavg")

    def to_each(state, client):
        return {"parameters": {k: v + client % 2 for k, v in state["parameters"].items()}}

    method = parts.method._replace(broadcast=to_each)
    with pytest.raises(LookupError, match="clients get different ones"):
        shared_view(method, state, parts.models, parts.infos)


def test_statistics_that_stay_at_the_clients_are_a_part_that_is_missing() -> None:
    kept = {"model__name": "tests.export.test_shared:Normed", "model__buffers": "local"}
    allow([kept["model__name"]])
    parts, state = begun("fedavg", **kept)
    with pytest.raises(LookupError, match="a part of it stays at the client"):
        shared_view(parts.method, state, parts.models, parts.infos)


class Normed(torch.nn.Module):
    def __init__(self, shape, classes) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(shape[0] if len(shape) == 1 else 1)
        self.flat, self.head = torch.nn.Flatten(), torch.nn.LazyLinear(classes)

    def forward(self, x):
        return self.head(self.norm(self.flat(x)[:, : self.norm.num_features]))


def test_several_architectures_have_none_in_common() -> None:
    parts, state = begun("fedavg")
    infos = {**parts.infos, 1: parts.infos[1]._replace(architecture="another")}
    with pytest.raises(LookupError, match="several architectures"):
        shared_view(parts.method, state, parts.models, infos)


def test_made_up_inputs_have_the_form_of_samples() -> None:
    people = population()
    for dtype in (torch.float32, torch.uint8, torch.int64):
        like = people.x.to(dtype)
        found = made_up(type("P", (), {"x": like})())
        assert (found.dtype, found.shape) == (dtype, (SAMPLES, *like.shape[1:]))
        assert len(found.unique()) > 1
        assert found.equal(found.round()) == (dtype != torch.float32)
        assert found.equal(made_up(type("P", (), {"x": like})()))
    assert int(found.max()) == 1  # a symbol of any vocabulary


def test_of_a_simulation_it_is_what_each_client_has_as_global(tmp_path) -> None:
    out = tmp_path / "run"
    run(small("ditto", run__rounds=2, run__clients=3), out)
    done = fedkin("export", out, "--view", "global", "--format", "pt2", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["written"][0]["client"] is None
    opened = Opened(out)
    exportable = shared(Served(out, opened.parts, opened.coordinator.state, opened.at))
    theirs = opened.view(opened.member(1), SHARED)
    assert {k: v.tolist() for k, v in exportable.view.items()} == {
        k: v.tolist() for k, v in theirs.items()
    }
    card = json.loads((out / "export" / "global" / "card.json").read_text())
    assert " samples its outputs" in card["files"]["model.pt2"]["use"]
    assert card["scores"]["global"]["test"]["loss"] > 0
    # a folder holds one model
    written = export(exportable, "safetensors", out / "export" / "global")
    assert written.client is None
    with pytest.raises(FedkinError, match="holds the model of all clients: choose another --out"):
        export(of_one(opened, opened.member(1)), "pt2", out / "export" / "global")
    assert "--view global" in told("export", out)
