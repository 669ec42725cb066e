"""A node that comes later joins a run: the bits of one process, and nobody else is asked."""

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.flower import newcomer
from fedkin.flower.node.host import Node
from fedkin.flower.operator.site import add
from fedkin.newcomers.local import Learned, described, joined
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import assemble
from fedkin.setup.opened import load
from tests.flower.cluster import experiment, result
from tests.flower.fleet import NAMES, Fleet
from website.json_page import schemas


def arrays(path: Path, population, client: int) -> None:
    parts = {part: population.part(client, part) for part in ("train", "val", "test")}
    np.savez(
        path,
        **{
            f"{k}_{part}": v.numpy()
            for part, xy in parts.items()
            for k, v in zip("xy", xy, strict=True)
        },
    )


def site(folder: Path, method: str, **settings) -> tuple[Fleet, Learned]:
    """Four nodes that have run, a fifth with a file of its own, and the same run in one process."""
    digits = assemble(experiment("fedavg")).population
    public = folder / "public.npz"
    np.savez(public, x=digits.x[::9].numpy(), y=digits.y[::9].numpy())
    everybody = experiment(method, run__clients=5, run__rounds=2, **settings)
    if everybody.public.source:
        named = everybody.public.model_copy(update={"source": str(public), "samples": 40})
        everybody = everybody.model_copy(update={"public": named})
    people = assemble(everybody).population
    whole = everybody.model_copy(update={"run": everybody.run.model_copy(update={"clients": 4})})
    fleet = Fleet(folder, whole, own_data=True)
    for client, name in enumerate(NAMES):
        arrays(fleet.folder / "nodes" / name / "data.npz", people, client)
    deployed = fleet.run()
    made = add(fleet.folder, "late")
    arrays(made / "data.npz", people, 4)
    fleet.nodes["late"] = Node(made)
    fleet.grid.names = list(fleet.nodes)
    # the same four, from the same rows, in one process
    from unittest.mock import patch

    with patch("fedkin.setup.build.population_of", lambda *_: people.only(range(4))):
        plain = run(whole, folder / "plain")
        assert result(plain)["fingerprint"] == result(deployed)["fingerprint"]
        coordinator, parts, _ = load(plain)
    return fleet, Learned(
        parts._replace(held_out=people.only([4])),
        coordinator.state,
        parts.spec.run.rounds,
        Runtime("trace"),
    )


@pytest.mark.parametrize("method", ["comet", "cgpfl", "ppfl", "fedem"])
def test_a_node_that_comes_later_gets_the_model_of_one_process(method, tmp_path):
    fleet, at = site(tmp_path, method)
    before = result(fleet.out)
    fleet.grid.seen.clear()
    content = newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None)
    Draft202012Validator(schemas()["deploy join"]).validate(content)  # what --json prints
    found, _ = joined(at, at.parts.held_out, None)
    same = (
        "rounds",
        "place",
        "places",
        "chosen_by",
        "scores",
        "measures",
        "notes",
        "bytes",
        "train",
        "val",
        "test",
    )
    assert {k: content[k] for k in same} == {
        k: described(found, at.parts.held_out)[k] for k in same
    }
    assert {name for name, _ in fleet.grid.seen} == {"late"}
    assert result(fleet.out) == before
    assert (
        json.loads((fleet.out / "joined" / "late" / "join.json").read_text())["rounds"]
        == content["rounds"]
    )
    states = list((fleet.folder / "nodes" / "late").glob("state/*/*.commit"))
    assert states or not content["rounds"]
    again = newcomer.serve(
        fleet.grid, fleet.folder, fleet.out, "late", None
    )  # work that was done is not done again
    assert {k: again[k] for k in same} == {k: content[k] for k in same}


def test_who_may_not_join(tmp_path):
    fleet, _ = site(tmp_path, "fedavg")
    with pytest.raises(FedkinError, match="c9 is no newcomer"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "c9", None)
    with pytest.raises(FedkinError, match="late is there already"):
        add(fleet.folder, "late")
    late = fleet.folder / "nodes" / "late"
    np.savez(late / "data.npz", x_train=np.zeros((4, 3), np.float32), y_train=np.arange(4) % 2)
    fleet.nodes["late"].__init__(late)
    with pytest.raises(FedkinError, match="data of late have shape"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None)
    fleet.grid.absent = {"late"}
    fleet.configure(wait=0.1)
    with pytest.raises(FedkinError, match="not connected"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None)


def test_a_node_that_goes_away_is_told_in_one_sentence(tmp_path, monkeypatch):
    fleet, _ = site(tmp_path, "finetune")
    fleet.configure(wait=0.1, deadline=0.1)
    hello = newcomer.hello

    def heard_once(*arguments):
        found = hello(*arguments)
        fleet.grid.absent = {"late"}
        return found

    monkeypatch.setattr(newcomer, "hello", heard_once)
    gone = r"^the newcomer (could not do its part|has no model to show): .*not connected"
    with pytest.raises(FedkinError, match=gone):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None)
    assert not (fleet.out / "joined" / "late").exists()


def test_columns_are_compared_where_both_have_names(tmp_path, monkeypatch):
    fleet, _ = site(tmp_path, "local")
    hello = newcomer.hello

    def named(*arguments):
        return {
            who: facts.model_copy(update={"columns": ("a",)})
            for who, facts in hello(*arguments).items()
        }

    monkeypatch.setattr(newcomer, "hello", named)
    content = newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", 0)
    assert content["scores"]["personal"]["test"]
