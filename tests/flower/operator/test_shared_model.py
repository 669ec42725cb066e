"""The shared model of a deployment's run on the operator's machine, without its nodes."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.export.shared import shared
from fedkin.flower.backend import NODES
from fedkin.flower.operator.shared_model import served
from fedkin.methods.fedbabu import fedbabu
from fedkin.methods.user_methods import allow
from tests.cli.command import fedkin, told
from tests.flower.cluster import experiment
from tests.flower.fleet import NAMES, Fleet

COLUMNS = ("age", "bmi")
ROWS = {"train": 12, "val": 4, "test": 4}


def table(path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    lines = ["split,age,bmi,label"]
    for split, many in ROWS.items():
        for k in range(many):
            lines.append(f"{split},{draw.normal():.3f},{draw.normal():.3f},{k % 2}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Finished runs of four nodes with tables of their own, by method, each made once."""
    made = {}

    def of(method: str):
        if method not in made:
            folder = tmp_path_factory.mktemp(method)
            spec = experiment(method, run__rounds=2)
            fleet = Fleet(folder, spec, own_data=True)
            for k, name in enumerate(NAMES):
                table(fleet.folder / "nodes" / name / "data.csv", k)
                node = fleet.folder / "nodes" / name / "node.toml"
                node.write_text(node.read_text().replace("data.npz", "data.csv"))
                fleet.nodes[name].__init__(node.parent)
            fleet.run()
            shutil.rmtree(fleet.folder / "nodes")  # they are elsewhere
            made[method] = fleet.out
        return made[method]

    return of


def test_it_is_the_servers_own(runs, tmp_path) -> None:
    out = runs("fedavg")
    done = fedkin("export", out, "--view", "global", "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    ((written,), failed) = json.loads(done.stdout).values()
    assert (written["client"], failed) == (None, [])
    assert written["file"] == str(tmp_path / "global" / "model.safetensors")
    run = served(out)
    saved = load_file(written["file"])
    assert {k: v.tolist() for k, v in saved.items()} == {
        k: v.tolist() for k, v in run.state["parameters"].items()
    }
    begun = run.parts.models[run.parts.infos[0].architecture].initial
    assert not all(torch.equal(begun[k], v) for k, v in saved.items())


def test_a_program_is_compared_on_made_up_inputs_and_the_card_says_whose_it_is(runs) -> None:
    out = runs("ditto")
    done = fedkin("export", out, "--view", "global", "--format", "pt2")
    assert done.exit_code == 0, done.output
    place = out / "export" / "global"
    assert str(place / "model.pt2") in done.stdout
    typed = f"predict {out} --view global --data FILE"
    assert done.stderr.splitlines()[-1] == f"next: fedkin {typed}"
    x = np.zeros((3, 2), dtype=np.float32)
    np.savez(place / "x.npz", x=x)
    words = typed.replace("FILE", str(place / "x.npz")).split()
    done = fedkin(*words)
    assert done.exit_code == 0, done.output
    answers = pd.read_csv(io.StringIO(done.stdout))
    chances = np.exp(
        torch.export.load(place / "model.pt2").module()(torch.from_numpy(x)).detach().numpy()
    )
    np.testing.assert_allclose(answers[["p(0)", "p(1)"]], chances, atol=1e-5)
    card = json.loads((place / "card.json").read_text())
    assert (card["client"], card["clients"], card["view"]) == (None, list(NAMES), "global")
    assert (card["method"], card["rounds"], card["finished"]) == ("ditto", 2, True)
    assert card["data"]["samples"] == {split: 4 * many for split, many in ROWS.items()}
    assert card["input"]["names"] == list(COLUMNS)
    assert card["input"]["encoded"].startswith("x holds the numbers of these columns as they are")
    assert "on 256 made-up inputs its outputs are within" in card["files"]["model.pt2"]["use"]
    page = (place / "card.md").read_text()
    assert page.startswith("# Shared model of 4 clients: c0, c1, c2, c3\n")
    assert "all clients' samples: 48 for training" in page
    assert "- global model on test, mean over clients: accuracy" in page
    assert "no number that stands for a missing one: age, bmi." in page
    program = torch.export.load(place / "model.pt2").module()
    assert program(torch.zeros(3, 2)).shape == (3, 2)


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("method", "works"),
    [
        ("fedavg", "export RUN --view global"),
        ("ditto", "export RUN --view global"),
        ("local", "show RUN --json"),
        ("per_fedavg", "show RUN --json"),
        ("fedbabu", "show RUN --json"),
        ("cgpfl", "show RUN --json"),
    ],
)
def test_its_report_names_a_command_that_works(method, works, runs) -> None:
    out = runs(method)
    done = fedkin("report", out)
    said = done.stderr.splitlines()[-1].removeprefix("next: fedkin ")
    assert said == works.replace("RUN", str(out))
    done = fedkin(*said.split())
    assert done.exit_code == 0, done.output


PARTED = "tests.flower.operator.test_shared_model:parted"


def parted(*, lr: float) -> Method:
    """FedBABU by another name: every client has its own part of the view "global"."""
    return fedbabu(lr=lr)._replace(name="parted")


def test_so_does_that_of_a_method_of_ones_own(tmp_path) -> None:
    allow([PARTED])
    fleet = Fleet(tmp_path, experiment(PARTED, run__rounds=1, model__name="dnn", model__hidden=5))
    for node in fleet.nodes.values():  # as an operator's line in node.toml
        node.config = node.config.model_copy(update={"imports": (PARTED,)})
    out = fleet.run()
    refused = fedkin("export", out, "--view", "global", "--trust-code").stderr
    assert "a part of it stays at the client" in refused
    assert fedkin("report", out).stderr.splitlines()[-1] == f"next: fedkin show {out} --json"


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("local", "it gives clients no view 'global'"),
        ("per_fedavg", "it makes its models of a client's samples"),
        ("fedbabu", "a part of it stays at the client"),
    ],
)
def test_a_method_without_one_says_what_to_do(method, why, runs) -> None:
    assert told("export", runs(method), "--view", "global") == (
        f"{method} has no shared model that the server alone could give: {why}; take a client's "
        "own: fedkin deploy export NODE, at the node"
    )


def test_what_is_missing_or_damaged(runs, tmp_path) -> None:
    out = shutil.copytree(runs("fedavg"), tmp_path / "run")
    told_of = (out / NODES).read_text()
    for text in ("{", "[]", '{"c0": {"train": 1}}'):
        (out / NODES).write_text(text)
        with pytest.raises(FedkinError, match=r"nodes.json is damaged: copy the run directory"):
            served(out)
    (out / NODES).write_text(told_of.replace('"train": 12', '"train": 13', 1))
    with pytest.raises(FedkinError, match=r"damaged|the data are not those that this run"):
        served(out)
    (out / NODES).unlink()
    with pytest.raises(FedkinError, match=r"nodes.json is missing, .* copy the whole run dir"):
        served(out)
    (out / NODES).write_text(told_of)
    shutil.rmtree(out / "checkpoint")
    assert "checkpoint" in told("export", out, "--view", "global")


def test_a_run_that_is_not_finished(runs) -> None:
    run = served(runs("fedavg"))
    begun = run._replace(at=run.at._replace(facts={**run.at.facts, "finished": False}, trained=1))
    with pytest.raises(FedkinError, match=r"is not finished \(round 1 of 2\): its shared model is"):
        shared(begun)


def test_a_rehearsal_has_its_samples_here(tmp_path) -> None:
    fleet = Fleet(tmp_path, experiment("fedavg", run__rounds=1))
    fleet.run()
    done = fedkin("export", fleet.out, "--view", "global", "--format", "pt2")
    assert done.exit_code == 0, done.output
    card = json.loads((fleet.out / "export" / "global" / "card.json").read_text())
    assert card["clients"] == list(served(fleet.out).parts.population.names)
    assert " samples its outputs are within" in card["files"]["model.pt2"]["use"]
    assert "names" not in card["input"]
