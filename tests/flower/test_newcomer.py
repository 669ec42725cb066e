"""A node that comes later joins a run: the bits of one process, and nobody else is asked."""

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from jsonschema import Draft202012Validator

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.flower import newcomer
from fedkin.flower.config import DEPLOYMENT, EXPERIMENT, Deployment, text_of
from fedkin.flower.dispatcher import RunIdentity
from fedkin.flower.envelope import Base, Done, Facts, NodeReply, Place, Request
from fedkin.flower.node.data import digest_of_public
from fedkin.flower.node.host import Node
from fedkin.flower.operator.site import add
from fedkin.newcomers.local import Learned, described, joined
from fedkin.newcomers.protocol import Ask
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import assemble
from fedkin.setup.frozen import digest
from fedkin.setup.loaded_run import load
from tests.cli.json_outputs import as_written, deployed
from tests.flower.cluster import experiment, result
from tests.flower.fleet import NAMES, Fleet
from website.json_page import schemas
from website.json_schema import of


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


@pytest.mark.rotating
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


def test_the_schema_of_a_join_is_as_it_is_written_anew(tmp_path):
    """As python -m tests.cli.json_outputs writes it."""
    assert as_written(of(list(deployed(tmp_path)))) == as_written(schemas()["deploy join"])


def test_who_may_not_join(tmp_path):
    fleet, _ = site(tmp_path, "fedavg")
    with pytest.raises(FedkinError, match="c9 is no newcomer"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "c9", None)
    with pytest.raises(FedkinError, match="late is there already"):
        add(fleet.folder, "late")
    began = (fleet.folder / EXPERIMENT).read_text()
    (fleet.folder / EXPERIMENT).write_text(began.replace("rounds = 2", "rounds = 3"))
    with pytest.raises(FedkinError, match="toml is not what run run began with: put it back, or n"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None)
    (fleet.folder / EXPERIMENT).write_text(began)
    late = fleet.folder / "nodes" / "late"
    np.savez(late / "data.npz", x_train=np.zeros((4, 3), np.float32), y_train=np.arange(4) % 2)
    fleet.nodes["late"].__init__(late)
    with pytest.raises(FedkinError, match="data of late have shape"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None)
    fleet.grid.absent = {"late"}
    # what the deployment's clients are by now is nothing to the run
    fleet.configure(wait=0.1, clients=(*NAMES, "other"))
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


def test_a_join_is_ended_between_two_questions(tmp_path, monkeypatch):
    fleet, _ = site(tmp_path, "finetune")
    hello, stop = newcomer.hello, tmp_path / "stop"

    def heard(*arguments):
        found = hello(*arguments)
        stop.touch()
        return found

    monkeypatch.setattr(newcomer, "hello", heard)
    with pytest.raises(Interrupted, match=r"^stopped before round \d+$"):
        newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None, None, stop)
    assert not stop.exists()
    assert not (fleet.out / "joined" / "late").exists()
    monkeypatch.setattr(newcomer, "hello", hello)
    assert newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", None, None, stop)


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


ABOUT = RunIdentity("", "0123456789abcdef", "1")
HERE = {"address": "127.0.0.1:9", "clients": ("a", "b"), "newcomers": ("late", "later")}


def test_a_newcomers_states_are_its_places_and_its_rounds(monkeypatch):
    """What it is asked in a place begins from the work that it did there, and from no other."""
    seen, lost = [], set()

    class Played:
        def __init__(self, grid, deployment, about) -> None:
            assert (grid, deployment.clients) == ("grid", ("late",))
            self.run = about.run

        def request(self, name, **content):
            return Request(version="1", experiment="", run=self.run, name=name, **content)

        def exchange(self, requests):
            ((name, (request, message)),) = requests.items()
            seen.append((request.run, request.base.round, request.keep, message))
            own, done = request.base, []
            for step in request.steps:
                fails = step.round in lost
                if step.op == "local" and not fails:
                    own = Base(round=step.round, digest=f"{step.round:064x}")
                scores = {"personal": dict.fromkeys(("train", "val", "test"), (1, 1))}
                why = "no" if fails else None
                done.append(Done(op=step.op, round=step.round, own=own, scores=scores, error=why))
            who = {"version": "1", "experiment": "", "run": self.run, "name": name}
            return {name: (NodeReply(**who, steps=tuple(done)), [])}

    monkeypatch.setattr(newcomer, "Dispatcher", Played)
    alone = Deployment(**{**HERE, "clients": ("late",)})
    place = Place(client=2, clients=3, classes=5, architecture="mlr", joined=3)
    afar = newcomer.RemoteNewcomer("grid", alone, ABOUT, place)

    def ask(at, base, keep, *steps):
        found = afar.ask(Ask(at, base, keep, steps, f"to {at}".encode()))
        return [(one.client, one.error) for one in found], seen.pop()

    fine = (2, None)
    assert ask(1, 0, 0, ("evaluate", 3), ("local", 4)) == (
        [fine, fine], ("0123456789abcdef0001", 0, 0, b"to 1"))  # fmt: skip
    assert ask(1, 4, 4, ("local", 5))[1] == ("0123456789abcdef0001", 4, 4, b"to 1")
    assert ask(17, 4, 0, ("local", 4))[1] == ("0123456789abcdef0011", 0, 0, b"to 17")
    lost.add(6)
    assert ask(1, 5, 5, ("local", 6))[0] == [(2, "no")]
    assert ask(1, 6, 5, ("evaluate", 9))[1][1] == 0  # there is no such state
    assert ask(1, 9, 5, ("evaluate", 5))[1][1] == 0  # an evaluation leaves none
    assert afar._left == {
        (at, round): Base(round=round, digest=f"{round:064x}")
        for at, round in ((1, 4), (1, 5), (17, 4))
    }


def learned(method="fedavg", **settings) -> Learned:
    parts = assemble(experiment(method, run__clients=3, run__rounds=7, **settings))
    return Learned(parts, {}, 5, Runtime("trace"))


def told(people, **changed) -> Facts:
    known = {"train": 11, "val": 2, "test": 3, "shape": tuple(people.x.shape[1:]),
             "dtype": str(people.x.dtype).removeprefix("torch."), "classes": 4,
             "task": "classification", "digest": "ab" * 32}  # fmt: skip
    return Facts(**{**known, **changed})


def test_a_newcomer_takes_the_first_free_number():
    run = learned(model__name="dnn", model__hidden=5, model__frozen="body")
    people = run.parts.population
    place, info = newcomer._place(run, "late", told(people, classes=10))
    assert place == Place(client=3, clients=4, classes=10, architecture="dnn", data="ab" * 32,
                          joined=5, frozen=digest(run.parts.models["dnn"]))  # fmt: skip
    assert len(place.frozen) == 64
    assert info._replace(histogram=None) == (3, "dnn", 11, None, 0, 10)
    assert info.histogram.equal(torch.zeros(10))


def test_what_a_newcomers_data_must_have_in_common_with_the_run():
    run = learned()
    people = run.parts.population
    for changed, why in (
        ({"shape": (3,)}, r"the data of late have shape \(3,\), those of the run"),
        ({"dtype": "int64"}, "the data of late have dtype int64, those of the run"),
        ({"task": "regression"}, "the data of late have task regression, those of the run class"),
        ({"classes": 11}, "^late has 11 classes, the run 10$"),
        ({"architecture": "own:Net"}, "^fedavg needs everybody's parameters: own:Net is none of"),
    ):
        with pytest.raises(FedkinError, match=why):
            newcomer._place(run, "late", told(people, **changed))
    named = run.parts.population
    named.truth[newcomer.COLUMNS] = np.array(["u", "v"])
    with pytest.raises(FedkinError, match="column 2 of late is 'w', of the run's nodes 'v'"):
        newcomer._place(run, "late", told(people, columns=("u", "w")))
    assert newcomer._place(run, "late", told(people))[0].client == 3
    shown = learned("comet")
    place, info = newcomer._place(shown, "late", told(people, architecture="own:Net"))
    assert (place.architecture, place.frozen) == ("own:Net", "")
    assert place.public == digest_of_public(shown.parts.population) != ""
    assert info.public == len(shown.parts.population.public) > 0


def no_room(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_join_that_cannot_be_written_is_told_in_one_sentence(tmp_path, monkeypatch):
    run, asked = learned(), []
    (tmp_path / DEPLOYMENT).write_text(text_of(Deployment(**{**HERE, "wait": 9.0})))
    monkeypatch.setattr(newcomer, "_learned", lambda *_: (run, ABOUT))
    monkeypatch.setattr(newcomer, "hello", lambda *_: {"late": told(run.parts.population)})
    monkeypatch.setattr(newcomer, "join", lambda *_: asked.append(1) or SimpleNamespace(place=2))
    monkeypatch.setattr(newcomer, "described_by", lambda found, *sizes: {})
    (tmp_path / "joined").touch()
    again = "but its model is on its node: fix that, and join again"
    for why in ("Not a directory", "it is a folder, not a file"):
        refused = rf"^\S+/join\.json cannot be written \({why}\), {again}"
        with pytest.raises(FedkinError, match=refused):
            newcomer.serve(None, tmp_path, tmp_path, "late", 0)
        if (tmp_path / "joined").is_file():
            (tmp_path / "joined").unlink()
            (tmp_path / "joined" / "late" / "join.json").mkdir(parents=True)
    (tmp_path / "joined" / "late" / "join.json").rmdir()
    (tmp_path / "joined" / "late").rmdir()
    (tmp_path / "joined").rmdir()
    with monkeypatch.context() as full:
        full.setattr(newcomer, "write_file", no_room)
        with pytest.raises(FedkinError, match="No space left"):
            newcomer.serve(None, tmp_path, tmp_path, "late", 0)
    assert [path.name for path in tmp_path.iterdir()] == [DEPLOYMENT]
    asked.clear()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "joined").mkdir()
    (tmp_path / "joined" / "late").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FedkinError, match="link"):
        newcomer.serve(None, tmp_path, tmp_path, "late", 0)
    assert (asked, list((tmp_path / "elsewhere").iterdir())) == ([], [])


def test_a_newcomer_works_at_most_as_long_as_the_run_had_rounds(tmp_path, monkeypatch):
    run, joins, greeted = learned(), [], []
    facts = {"late": told(run.parts.population)}
    (tmp_path / DEPLOYMENT).write_text(text_of(Deployment(**{**HERE, "wait": 9.0})))

    def greet(dispatcher, patience, waiting, stop):
        assert (waiting, stop) == (None, None)
        greeted.append((dispatcher.deployment.clients, dispatcher.about, patience))
        return facts

    def join(*asked):
        joins.append(asked)
        return SimpleNamespace(place=2)

    monkeypatch.setattr(newcomer, "_learned", lambda *_: (run, ABOUT))
    monkeypatch.setattr(newcomer, "hello", greet)
    monkeypatch.setattr(newcomer, "join", join)
    monkeypatch.setattr(newcomer, "described_by", lambda found, *sizes: {"sizes": sizes})
    with pytest.raises(
        FedkinError, match=r"--rounds 8: .* at most as many rounds as the run has, 7"
    ):
        newcomer.serve(None, tmp_path, tmp_path, "late", 8)
    assert not joins
    for rounds in (7, None, 0):
        found = newcomer.serve(None, tmp_path, tmp_path, "late", rounds)
        server, afar, asked, most = joins.pop()
        assert (asked, most, server.validates, server.round) == (rounds, 5, True, 5)
        assert (afar.deployment.clients, afar.place.client) == (("late",), 3)
    assert greeted[-1] == (("late",), ABOUT, 9.0)
    assert found == json.loads((tmp_path / "joined" / "late" / "join.json").read_text()) | {
        "sizes": (11, 2, 3)
    }
    assert (found["client"], found["method"], found["after_round"]) == ("late", "fedavg", 5)
    assert found["model"] == "on its node, in state/0123456789abcdef0002"
    facts["late"] = None
    with pytest.raises(FedkinError, match="late has no data of its own"):
        newcomer.serve(None, tmp_path, tmp_path, "late", 1)
