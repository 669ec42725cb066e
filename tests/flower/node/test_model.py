"""A node's own model, exported and asked on the node: what one process would hand over."""

import json
import math
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

pytest.importorskip("flwr")

from fedkin.cli.deploy import app as deploy_app
from fedkin.core.errors import FedkinError
from fedkin.engine.model_sources import ModelSources
from fedkin.engine.store import StoreError
from fedkin.experiment.run import run
from fedkin.export.card import card_of
from fedkin.export.exportable import samples_of
from fedkin.export.opened_run import Opened
from fedkin.export.predict import predict
from fedkin.flower import config, newcomer
from fedkin.flower.envelope import Place
from fedkin.flower.node import data
from fedkin.flower.node.host import Node
from fedkin.flower.node.model import _card, _own_samples, exportable
from fedkin.flower.node.store import MODEL, Commit, NodeStore
from fedkin.flower.operator.site import add
from fedkin.models.user_models import allow
from fedkin.runs.database import read_only
from fedkin.setup.build import assemble
from tests.engine.small import small
from tests.flower.fleet import NAMES, Fleet


def deploy(*asked: object) -> str:
    """Standard output of ``fedkin deploy …``; its error, where it has one, is raised."""
    done = CliRunner().invoke(deploy_app, list(map(str, asked)))
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.mark.rotating
@pytest.mark.parametrize(
    "method", ["fedavg", "ditto", "pfedme", "ppfl", "apfl", "per_fedavg", "persfl", "comet"]
)
def test_it_is_the_model_of_one_process(method, tmp_path):
    spec = small(method, run__participation=1.0, run__clients=len(NAMES))
    fleet = Fleet(tmp_path, spec)
    fleet.run()
    plain = Opened(run(spec, tmp_path / "plain"))
    for client, name in enumerate(NAMES):
        here = exportable(fleet.folder / "nodes" / name)
        x, _ = plain.parts.population.part(client, "test")
        assert here.personal(x).equal(plain.personal(plain.member(client))(x))
        mine, theirs = here.card(), card_of(plain, plain.member(client))
        for what in (
            "scores",
            "hyper_parameters",
            "family",
            "rounds",
            "finished",
            "joined",
            "took_part",
            "privacy",
            "input",
            "output",
        ):
            assert json.loads(json.dumps(mine[what])) == theirs[what]


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("method", "where", "outside"),
    [("fedavg", "server", False), ("fedavg", "client", False), ("ditto", "server", True)],
)
def test_its_card_says_what_the_noise_gives_and_in_which_share_of_rounds_it_was(
    method, where, outside, tmp_path
):
    spec = small(
        method,
        run__participation=0.5,
        run__rounds=3,
        run__clients=len(NAMES),
        privacy__clip=1.0,
        privacy__noise=1.0,
        privacy__delta=1e-6,
        privacy__where=where,
        privacy__seeded=True,
    )
    fleet = Fleet(tmp_path, spec)
    fleet.run()
    plain = Opened(run(spec, tmp_path / "plain"))
    counts = []
    for client, name in enumerate(NAMES):
        mine = exportable(fleet.folder / "nodes" / name).card()
        theirs = card_of(plain, plain.member(client))
        assert (mine["took_part"], mine["privacy"]) == (theirs["took_part"], theirs["privacy"])
        assert mine["privacy"]["epsilon"] > 0
        assert mine["outside_of_privacy"] is theirs["outside_of_privacy"] is outside
        counts.append(mine["took_part"])
    assert len(set(counts)) > 1


def test_what_is_kept_was_evaluated_also_where_making_it_trains(tmp_path):
    own = "tests.engine.test_runtime:Dropped"
    spec = small(
        "per_fedavg", run__participation=1.0, run__rounds=1, run__clients=4, model__name=own
    )
    allow([own])
    fleet = Fleet(tmp_path, spec)
    for name in NAMES:
        folder = fleet.folder / "nodes" / name
        told = config.load(config.NodeConfig, folder, config.NODE)
        told = told.model_copy(update={"imports": (own,)})
        (folder / config.NODE).write_text(config.text_of(told))
        fleet.nodes[name].__init__(folder)
    fleet.run()
    people = assemble(spec).population
    for client, name in enumerate(NAMES):
        here = exportable(fleet.folder / "nodes" / name)
        x, y = people.part(client, "test")
        found = torch.nn.functional.nll_loss(here.personal(x).log_softmax(-1), y)
        recorded = here.card()["scores"]["personal"]["test"]["loss"]
        torch.testing.assert_close(float(found.detach()), recorded, rtol=1e-5, atol=0)


TABLE = ("age", "bmi")


def write(folder: Path, columns: tuple[str, ...] = TABLE, seed: int = 0) -> Node:
    """A node's folder with a table."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(60, 2)) * [15, 4] + [60, 27], columns=list(TABLE))
    frame["label"] = (frame["age"] + 2 * frame["bmi"] + rng.normal(size=60) * 5 > 114).astype(int)
    frame["split"] = ["train", "val", "test"] * 20
    frame[[*columns, "label", "split"]].to_csv(folder / "data.csv", index=False)
    settings = folder / "node.toml"
    settings.write_text(settings.read_text().replace("data.npz", "data.csv"))
    return Node(folder)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Four nodes with tables of their own, after a run."""
    shape = {
        "data__mean": [60.0, 27.0],
        "data__std": [15.0, 4.0],
        "model__name": "dnn",
        "train__lr": 0.1,
    }
    spec = small("ditto", run__participation=1.0, **shape)
    fleet = Fleet(tmp_path_factory.mktemp("trained"), spec, own_data=True)
    for number, name in enumerate(NAMES):
        fleet.nodes[name].__init__(write(fleet.folder / "nodes" / name, seed=number).folder)
    fleet.run()
    return fleet


def test_new_rows_are_read_by_the_names_of_their_columns(trained, tmp_path):
    node = trained.folder / "nodes" / "c1"
    rows = pd.read_csv(node / "data.csv").query("split == 'test'")
    rows[["label", "bmi", "age"]].assign(ward="north").to_csv(tmp_path / "new.csv", index=False)
    told = deploy("predict", node, "--data", tmp_path / "new.csv", "--out", tmp_path / "said.csv")
    assert str(tmp_path / "said.csv") in told
    said = pd.read_csv(tmp_path / "said.csv")
    assert list(said.columns) == ["prediction", "p(0)", "p(1)"]
    with read_only(trained.out) as record:
        query = (
            "SELECT accuracy FROM metrics WHERE client = 1 AND view = 'personal' AND "
            "split = 'test' ORDER BY round DESC"
        )
        ((accuracy,), *_) = record.rows(query)
    assert (said["prediction"].to_numpy() == rows["label"].to_numpy()).mean() == pytest.approx(
        accuracy
    )
    printed = json.loads(deploy("predict", node, "--data", tmp_path / "new.csv", "--json"))
    assert [int(one["prediction"]) for one in printed["predictions"]] == list(said["prediction"])
    _, notes = predict(exportable(node), tmp_path / "new.csv")
    assert "columns that the model does not use: ward" in notes
    assert any(f"{100 * accuracy:.2f} % of 20" in note for note in notes)


def test_a_program_and_its_card(trained, tmp_path):
    node = trained.folder / "nodes" / "c2"
    assert "within" in deploy("export", node, "--format", "pt2", "--out", tmp_path / "out")
    printed = json.loads(deploy("export", node, "--out", tmp_path / "out", "--json"))
    assert [one["file"] for one in printed["written"]] == [
        str(tmp_path / "out" / "model.safetensors")
    ]
    x = torch.tensor(pd.read_csv(node / "data.csv")[list(TABLE)].to_numpy(), dtype=torch.float32)
    program = torch.export.load(tmp_path / "out" / "model.pt2").module()
    assert program(x).allclose(exportable(node).personal(x), atol=1e-5)
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert set(card["files"]) == {"model.pt2", "model.safetensors"}
    assert card["data"]["samples"] == {"train": 20, "val": 20, "test": 20}
    assert [column["name"] for column in card["input"]["columns"]] == list(TABLE)
    assert card["scores"]["personal"]["test"]["accuracy"] > 0.5
    text = (tmp_path / "out" / "card.md").read_text()
    assert "Personal model of client c2" in text
    assert "| age | x as it is; missing: x = " in text
    assert "the client sent" not in text  # the record of that is the server's
    with pytest.raises(FedkinError, match="holds the model of c2: choose another --out"):
        deploy("export", node.with_name("c1"), "--out", tmp_path / "out")


def test_another_experiment_in_the_folder_changes_no_model(trained, tmp_path):
    node = trained.folder / "nodes" / "c3"
    before, x = exportable(node), torch.randn(5, 2)
    experiment, settings = ((node / name).read_text() for name in ("experiment.toml", "node.toml"))
    (node / "experiment.toml").write_text(experiment.replace('name = "dnn"', 'name = "mlr"'))
    (node / "node.toml").write_text(settings + '\nmodel = "own:Net"\n')
    try:
        assert exportable(node).personal(x).equal(before.personal(x))
    finally:
        (node / "experiment.toml").write_text(experiment)
        (node / "node.toml").write_text(settings)


def test_who_comes_later_has_one_too(trained):
    late = add(trained.folder, "late")
    trained.nodes["late"] = write(late, seed=9)
    trained.grid.names = list(trained.nodes)
    found = newcomer.serve(trained.grid, trained.folder, trained.out, "late", 2)
    card = exportable(late).card()
    assert card["scores"]["personal"]["test"]["loss"] == found["scores"]["personal"]["test"]["loss"]
    assert card["joined"] == {"after_round": 3, "rounds": found["rounds"]}
    assert (card["rounds"], card["finished"]) == (3, True)


def test_a_model_that_cannot_be_kept_costs_no_scores(tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, small("fedavg", run__participation=1.0, run__clients=len(NAMES)))
    put = NodeStore.put

    def full(self: NodeStore, which: int | str, commit: Commit) -> None:
        if which == MODEL:
            raise StoreError("the disk is full")
        put(self, which, commit)

    monkeypatch.setattr(NodeStore, "put", full)
    out = fleet.run()
    with read_only(out) as record:
        assert record.last_round() == 4
        assert record.rows("SELECT count(*) FROM metrics WHERE round = 4")[0][0]
    with pytest.raises(FedkinError, match="holds no model"):
        exportable(fleet.folder / "nodes" / "c0")


def test_what_cannot_be_handed_over_is_told(trained, tmp_path):
    node = trained.folder / "nodes" / "c0"
    (kept,) = node.glob("state/*/model.commit")
    with pytest.raises(FedkinError, match="holds no model of a run 'zz': "):
        exportable(node, "zz")
    assert exportable(node, kept.parent.name[:3]).client == "c0"
    with pytest.raises(FedkinError, match="unknown format 'pt': did you mean 'pt2'"):
        deploy("export", node, "--format", "pt")
    whole = kept.read_bytes()
    try:
        kept.write_bytes(whole[:-1])
        with pytest.raises(FedkinError, match=r"model\.commit is damaged"):
            exportable(node)
        kept.write_bytes(whole)
        commit = NodeStore(kept.parent).find(MODEL)
        other = json.loads(json.dumps(commit.details).replace('"seed"', '"sead"', 1))
        NodeStore(kept.parent).put(MODEL, commit._replace(details=other))
        with pytest.raises(FedkinError, match=r"model\.commit is damaged, or of another fedkin"):
            exportable(node)
        kept.unlink()
        with pytest.raises(
            FedkinError, match="holds no model, until a run that it takes part in is finished"
        ):
            exportable(node)
    finally:
        kept.write_bytes(whole)
    table = (node / "data.csv").read_text()
    (tmp_path / "new.csv").write_text("age,bmi\n61,27\n,25\n")
    said = deploy("predict", node, "--data", tmp_path / "new.csv")
    try:
        write(node, ("bmi", "age"))
        with pytest.raises(FedkinError, match=r"column 1 of data\.csv is 'bmi', of the run 'age'"):
            deploy("export", node, "--out", tmp_path / "out")
        (node / "data.csv").unlink()
        with pytest.raises(FedkinError, match=r"data\.csv"):
            deploy("export", node, "--out", tmp_path / "out")
        assert (
            deploy("predict", node, "--data", tmp_path / "new.csv") == said
        )  # as before: it asks no data of the node
    finally:
        (node / "data.csv").write_text(table)


def test_the_newest_is_meant_unless_another_is_named(trained):
    node = trained.folder / "nodes" / "c0"
    (kept,) = node.glob("state/*/model.commit")
    other = kept.parent.with_name(kept.parent.name[:4] + "0000")
    other.mkdir()
    try:
        (other / "model.commit").write_bytes(kept.read_bytes())
        os.utime(kept, (1, 1))
        assert exportable(node).card()["run"] == other.name
        assert exportable(node, kept.parent.name).card()["run"] == kept.parent.name
        with pytest.raises(FedkinError, match="is the beginning of several runs"):
            exportable(node, kept.parent.name[:4])
    finally:
        (other / "model.commit").unlink()
        other.rmdir()


@pytest.mark.parametrize(
    ("joined", "looked", "rounds", "finished", "told"),
    [
        (None, 4, 3, True, None),
        (2, 6, 2, False, {"after_round": 2, "rounds": 3}),
        (3, 4, 3, True, {"after_round": 3, "rounds": 0}),
        (4, 7, 3, True, {"after_round": 3, "rounds": 2}),  # after the finished model
    ],
)
def test_a_card_says_how_long_a_client_took_part(joined, looked, rounds, finished, told):
    spec = small("ditto")
    parts = assemble(spec)
    details = SimpleNamespace(
        spec=spec,
        place=Place(client=2, clients=6, classes=10, architecture="mlr", joined=joined),
        round=looked,
        trained=None,
        again=0,
        model_sources=ModelSources(own=True, samples=True),
        took_part=None,
        version="1",
        samples={"train": 5},
        scores={
            "personal": {"test": (math.nan, 0.5), "val": (2.0, 0.25)},
            "b": {"val": (1.0, 0.0)},
        },
        measures={"personal": {"test": {"auc": 0.75}}},
        notes={"safe_share": 0.0},
    )
    kept = SimpleNamespace(details=details, run="ab01")
    card = _card("north", kept, parts.method, parts.models["mlr"], parts.population)
    assert (card["rounds"], card["finished"], card["joined"]) == (rounds, finished, told)
    assert (card["client"], card["number"], card["run"]) == ("north", 2, "ab01")
    assert card["took_part"] is card["privacy"] is None
    assert card["deploys"].startswith("its own model")
    assert card["scores"] == {
        "personal": {
            "test": {"loss": None, "accuracy": 0.5, "auc": 0.75},
            "val": {"loss": 2.0, "accuracy": 0.25},
        },
        "b": {"val": {"loss": 1.0, "accuracy": 0.0}},
    }
    assert card["data"]["digest"] == parts.population.digest()
    for trained, told_of in ((2, min(rounds, 2)), (9, rounds)):  # no more than there were to be
        details.trained = trained
        card = _card("north", kept, parts.method, parts.models["mlr"], parts.population)
        assert card["rounds"] == told_of
    details.place = details.place.model_copy(update={"data": "ab" * 32})
    card = _card("north", kept, parts.method, parts.models["mlr"], parts.population)
    assert card["data"] == {"name": "digits", "samples": {"train": 5}, "digest": "ab" * 32}


def test_an_exported_model_is_compared_on_such_samples_as_the_run_had(tmp_path):
    x, y = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(4) % 2
    np.savez(tmp_path / "a.npz", x_train=x[:3], y_train=y[:3], x_test=x[3:], y_test=y[3:])
    (tmp_path / "b.csv").write_text("u,v,sort,split\n1,2,0,train\n2,3,1,test\n")
    then = data.facts_of(data.read(tmp_path / "a.npz"), 0)

    def samples(name, facts, label=""):
        node = SimpleNamespace(client="c", data=name)
        spec = SimpleNamespace(data=SimpleNamespace(label=label))
        return _own_samples(node, tmp_path, SimpleNamespace(facts=facts, spec=spec))

    assert (
        samples("a.npz", then).tolist()
        == samples_of("c", data.read(tmp_path / "a.npz"), [0]).tolist()
    )
    with pytest.raises(
        FedkinError, match=r"a\.npz has samples of float32 \[3\], the run had uint8 \[3\]"
    ):
        samples("a.npz", then.model_copy(update={"dtype": "uint8"}))
    with pytest.raises(FedkinError, match=r"the run had float32 \[4\]"):
        samples("a.npz", then.model_copy(update={"shape": (4,)}))
    with pytest.raises(FedkinError, match=r"node\.toml names no data file any more"):
        samples(None, then)
    table = data.facts_of(data.read(tmp_path / "b.csv", "sort"), 0)
    assert len(samples("b.csv", table, "sort"))
    unnamed = table.model_copy(update={"columns": ()})
    assert len(samples("b.csv", unnamed, "sort"))
    with pytest.raises(FedkinError, match=r"column 1 of b\.csv is 'u', of the run 'w'"):
        samples("b.csv", table.model_copy(update={"columns": ("w", "v")}), "sort")
