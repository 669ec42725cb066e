"""The transport and the nodes give every method the bits of one process, whoever is missing,
stopped or resumed.
"""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.run import run
from fedkin.export.opened_run import Opened
from fedkin.flower import server
from fedkin.flower.envelope import Request
from fedkin.flower.node import placement
from fedkin.flower.node.model import exportable
from fedkin.flower.node.work import Work
from fedkin.methods import METHODS, make
from fedkin.methods.user_methods import allow
from fedkin.runs.database import read_only
from fedkin.runs.directory import SPEC
from fedkin.setup.build import assemble
from tests.engine.small import METHODS as HYPER
from tests.flower.cluster import experiment as five_rounds
from tests.flower.cluster import result
from tests.flower.fleet import NAMES, Fleet
from tests.some_methods import some

POOLED = [name for name in METHODS if make(name, HYPER.get(name, {}), {"lr": 0.1}).needs.pooled]
CASES = sorted(set(METHODS) - set(POOLED))


def experiment(method: str, **settings):
    return five_rounds(method, **{"run__rounds": 3, **settings})


@cache
def plain(method: str) -> dict[str, Any]:
    """What one process gives that nobody kills."""
    with TemporaryDirectory(prefix="fedkin-plain-") as folder:
        return result(run(experiment(method), Path(folder)))


@pytest.mark.rotating
@pytest.mark.parametrize("method", some(CASES))
def test_every_method_gives_the_bits_of_one_process(method, tmp_path):
    deployed = result(Fleet(tmp_path, experiment(method)).run())
    assert deployed == plain(method)
    assert not deployed["events"]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (
            "fedrep",
            {"train__optimizer": "adamw", "train__state": "kept", "run__participation": 0.5},
        ),
        ("fedavg", {"train__momentum": 0.9, "server__optimizer": "adam", "server__lr": 0.1}),
    ],
)
def test_optimizers_of_clients_and_of_the_server(method, settings, tmp_path):
    deployed = result(Fleet(tmp_path, experiment(method, **settings)).run())
    assert deployed == result(run(experiment(method, **settings), tmp_path / "plain"))


@pytest.mark.rotating
@pytest.mark.parametrize(
    "settings",
    [
        {"run__participation": 0.5},
        {"run__evaluate_every": 2},
        {"run__evaluate": "panel:2"},
        {"run__evaluate": "participants", "run__participation": 0.5},
    ],
)
@pytest.mark.parametrize("method", ["comet", "ditto"])
def test_partial_participation_and_rare_evaluation(method, settings, tmp_path):
    deployed = result(Fleet(tmp_path, experiment(method, **settings)).run())
    assert deployed == result(run(experiment(method, **settings), tmp_path / "plain"))


@pytest.mark.rotating
@pytest.mark.parametrize("buffers", ["global", "local", "drop"])
def test_running_statistics_stay_or_go_as_in_one_process(buffers, tmp_path):
    spec = experiment("fedavg", model__name="tests.parity.normed:Normed", model__buffers=buffers)
    fleet = Fleet(tmp_path, spec)
    for node in fleet.nodes.values():  # as an operator's line in node.toml
        node.config = node.config.model_copy(update={"imports": ("tests.parity.normed",)})
    deployed = result(fleet.run())
    assert deployed == result(run(spec, tmp_path / "plain"))


HALVED = "tests.parity.halved:halved"


def test_a_method_of_ones_own_gives_the_bits_of_one_process(tmp_path):
    allow([HALVED])  # as by --trust-code of fedkin deploy init
    spec = experiment(HALVED, method__share=0.25)
    fleet = Fleet(tmp_path, spec)
    with pytest.raises(FedkinError, match=f"names code .{HALVED}. that this node does not import"):
        Fleet(tmp_path / "unlisted", spec).run()
    for node in fleet.nodes.values():  # as an operator's line in node.toml
        node.config = node.config.model_copy(update={"imports": (HALVED,)})
    assert result(fleet.run()) == result(run(spec, tmp_path / "plain"))


BODY = {"model__name": "dnn", "model__hidden": 5, "model__frozen": "body"}


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["fedavg", "ditto", "fedem"])
def test_every_node_freezes_the_same_parameters(method, tmp_path):
    spec = experiment(method, **BODY)
    fleet = Fleet(tmp_path, spec)
    assert result(fleet.run()) == result(run(spec, tmp_path / "plain"))
    there = Opened(tmp_path / "plain")
    for client, name in enumerate(NAMES):
        here = exportable(fleet.folder / "nodes" / name)
        x = here.samples()
        assert here.personal(x).equal(there.personal(there.member(client))(x))


def test_a_node_whose_frozen_parameters_are_others_is_left_out(tmp_path, monkeypatch):
    digest = placement.digest
    asked = []

    def other(model):
        asked.append(model)
        return "ab" * 32 if len(asked) == 1 else digest(model)

    monkeypatch.setattr(placement, "digest", other)
    found = result(Fleet(tmp_path, experiment("fedavg", **BODY)).run())
    assert "its frozen parameters of model 'dnn' are not those of the server" in str(
        found["events"]
    )


def test_a_node_whose_public_set_is_another_one_is_left_out(tmp_path):
    """Each has its own copy beside its experiment.toml, and so has the server."""
    digits = assemble(experiment("fedavg")).population
    x, y = digits.x[::9].numpy(), digits.y[::9].numpy()
    spec = experiment("ds_fl", run__rounds=1, public__source="common.npz", public__samples=40)
    fleet = Fleet(tmp_path, spec, own_data=True)
    homes = [fleet.folder / "nodes" / name for name in NAMES]
    for client, home in enumerate(homes):
        (x_train, y_train), (x_test, y_test) = (digits.part(client, s) for s in ("train", "test"))
        np.savez(home / "data.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    for folder in (fleet.folder, *homes[:3]):
        np.savez(folder / "common.npz", x=x, y=y)
    np.savez(homes[3] / "common.npz", x=x[::-1].copy(), y=y)
    found = result(fleet.run())
    assert {event[1] for event in found["events"] if "public set" in str(event)} == {3}
    assert "its public set is not the one of the server" in str(found["events"])
    assert {row[1] for row in found["metrics"]} == {0, 1, 2}


@pytest.mark.parametrize("method", POOLED)
def test_a_method_that_pools_data_is_refused(method, tmp_path):
    with pytest.raises(FedkinError, match="everybody's data in one place"):
        Fleet(tmp_path, experiment(method))


def test_a_run_that_was_killed_before_its_record_is_gone_on_with(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto"))
    fleet.out.mkdir()
    (fleet.out / SPEC).write_bytes(
        (run(experiment("ditto"), tmp_path / "plain") / SPEC).read_bytes()
    )
    assert result(fleet.run()) == result(tmp_path / "plain")


def test_one_message_a_round_carries_everything(tmp_path):
    fleet = Fleet(tmp_path, experiment("comet"))
    fleet.run()
    asked = [
        [(step.op, step.round) for step in Request.model_validate_json(parts[0]).steps]
        for name, parts in fleet.grid.seen
        if name == "c1"
    ]
    assert asked == [
        [],  # who is there
        [("introduce", 0)],
        [("local", 1)],
        [("evaluate", 1), ("local", 2)],
        [("evaluate", 2), ("local", 3)],
        [("evaluate", 3), ("evaluate_all", 4)],
    ]


def test_the_end_travels_with_the_last_evaluation(tmp_path):
    fleet = Fleet(tmp_path, experiment("finetune", run__rounds=1))
    fleet.run()
    last = [(step.op, step.round) for step in request(fleet.grid.seen[-1][1]).steps]
    assert last == [("evaluate", 1), ("finish", 2), ("evaluate_all", 2)]


def test_nobody_works_in_a_round_of_others(tmp_path):
    fleet = Fleet(tmp_path, experiment("fedavg", run__participation=0.5))
    fleet.run()
    asked = {
        (step.round, NAMES.index(name))
        for name, parts in fleet.grid.seen
        for step in request(parts).steps
        if step.op == "local"
    }
    with read_only(fleet.out) as database:
        rows = database.rows("SELECT round, participants FROM rounds WHERE phase = 'round'")
    assert asked == {(round, client) for round, who in rows for client in json.loads(who)}


class Lost(InProcess):
    """One process, in which some clients are away in some rounds: (round, client)."""

    away: frozenset[tuple[int, int]] = frozenset()

    def ask(self, op, round, orders):
        for answer in super().ask(
            op, round, [o for o in orders if op != "local" or (round, o.client) not in self.away]
        ):
            yield answer
        for order in orders:
            if op == "local" and (round, order.client) in self.away:
                yield type(answer)(order.client, error="its node is not connected", reached=False)


@pytest.mark.parametrize("method", ["comet", "ditto"])
def test_a_client_that_was_away_comes_back_with_its_own_state(method, tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, experiment(method))
    get = fleet.grid.get_nodes

    def nodes():
        last = max(
            (step.round for _, parts in fleet.grid.seen for step in request(parts).steps), default=0
        )
        fleet.grid.absent = (
            {"c2"} if last == 1 else set()
        )  # the message of round 2 does not reach it
        return get()

    monkeypatch.setattr(fleet.grid, "get_nodes", nodes)
    deployed = result(fleet.run())
    assert deployed["events"] == [(2, 2, "missing", "its node is not connected")]
    monkeypatch.setattr(Lost, "away", frozenset({(2, 2)}))
    monkeypatch.setattr("fedkin.experiment.local_backend.InProcess", Lost)
    plain = result(run(experiment(method), tmp_path / "plain"))
    unseen = {
        row for row in plain["metrics"] if row[:2] == (1, 2)
    }  # round 1's evaluation travels with round 2's work
    assert set(deployed["metrics"]) == set(plain["metrics"]) - unseen
    for what in ("fingerprint", "messages", "events", "rounds"):
        assert deployed[what] == plain[what], what


def request(parts: list[bytes]) -> Request:
    return Request.model_validate_json(parts[0])


class Stop(Exception):
    pass


@pytest.mark.rotating
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("method", ["comet", "ditto", "scaffold", "finetune"])
def test_a_server_that_was_killed_continues_with_the_same_result(
    method, after, tmp_path, monkeypatch
):
    fleet = Fleet(tmp_path, experiment(method))

    def stopping(number):
        def progress(record):
            if record.round == number:
                raise Stop

        return progress

    monkeypatch.setattr(server, "progress_of", lambda *_: stopping(after))
    with pytest.raises(Stop):
        fleet.run()
    monkeypatch.undo()
    worked = counting(monkeypatch)
    assert result(fleet.run()) == plain(method)
    # the work that travelled with the last evaluation is done already, and is not done again
    assert worked == [
        ("local", round) for round in range(after + (2 if after else 1), 4) for _ in NAMES
    ]


def counting(monkeypatch) -> list[tuple[str, int]]:
    """The work that nodes do from now on."""
    worked: list[tuple[str, int]] = []
    anew = Work._anew

    def counted(self, step):
        if step.op == "local":
            worked.append((step.op, step.round))
        return anew(self, step)

    monkeypatch.setattr(Work, "_anew", counted)
    return worked


def test_nodes_that_are_not_registered_say_who_they_are(tmp_path):
    fleet = Fleet(tmp_path, experiment("comet"))
    fleet.configure(insecure=True)
    fleet.grid.names = ["", "", "", ""]  # Flower knows no names then
    assert result(fleet.run()) == plain("comet")


@pytest.mark.parametrize("restarted", [True, False])
def test_data_that_changed_are_noticed(restarted, tmp_path):
    """Whether the node's host was started again meanwhile, or goes on."""
    x, y = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2
    settings = {"model__name": "mlr", "train__batch_size": 4}
    fleet = Fleet(tmp_path, experiment("fedavg", **settings), own_data=True)
    for k, name in enumerate(NAMES):
        path = fleet.folder / "nodes" / name / "data.npz"
        part = {
            "x_train": x[k::4][:6],
            "y_train": y[k::4][:6],
            "x_test": x[k::4][6:],
            "y_test": y[k::4][6:],
        }
        np.savez(path, **part)
    push = fleet.grid.push_messages

    def pushing(messages):
        if len(fleet.grid.seen) == 8:  # after who is there, and round 1
            path = fleet.folder / "nodes" / "c2" / "data.npz"
            np.savez(path, x_train=x[:7], y_train=y[:7])
            if restarted:
                fleet.nodes["c2"].__init__(path.parent)
        return push(messages)

    fleet.grid.push_messages = pushing
    done = result(fleet.run())
    said = "its data are not those that it joined the run with: put them back, or begin another run"
    assert {(row[1], row[3]) for row in done["events"]} == {(2, said)}
    assert [row[0] for row in done["events"]] == [2, 3]
