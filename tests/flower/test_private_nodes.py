"""What [[transforms]] and [privacy] ask of clients is done by nodes: the bits of one process."""

import shutil
import stat

import pytest
import torch

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.core.tree import leaves
from fedkin.engine.codec import decode, encode
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.flower import config
from fedkin.flower.config import spec_of
from fedkin.flower.envelope import Place, Request, opened
from fedkin.flower.node.deployed_model import KeptModel
from fedkin.flower.node.privacy_ledger import PrivacyLedger
from fedkin.flower.node.protection import threshold_at
from fedkin.report.privacy_costs import cost_of_record
from fedkin.runs.database import read_only
from fedkin.runs.directory import RECORD
from fedkin.runs.spec import Spec, parse
from fedkin.setup.accountant import epsilon
from fedkin.setup.privacy import mechanism_of
from tests.engine.small import content
from tests.flower.cluster import result
from tests.flower.fleet import Fleet, Grid
from tests.flower.node.test_host import ask, down, made, request
from tests.flower.test_masks import sizeless, unsigned

RUNS = {"run__clients": 4, "run__participation": 1.0, "run__rounds": 3, "run__commit_every": 0}
NOISE = {"noise": 0.6, "clip": 0.5, "delta": 1e-5}
SAMPLES = {**NOISE, "unit": "sample", "seeded": True}


def experiment(method: str = "fedavg", privacy=None, transforms=()) -> Spec:
    given = content(method, **{**RUNS, "engine__name": "inprocess", "run__sampling": "uniform"})
    return parse({**given, "privacy": privacy or {}, "transforms": list(transforms)})[0]


CASES = {
    "top_k": experiment(transforms=[{"name": "top_k", "share": 0.1}]),
    "quantize": experiment("ditto", transforms=[{"name": "quantize", "bits": 4}]),
    "client": experiment("ditto", {**NOISE, "where": "client", "seeded": True}),
    "predictions": experiment("comet", {**NOISE, "where": "client", "seeded": True}),
    "samples": experiment("ditto", SAMPLES),
    "samples, masks": experiment("fedavg", {**SAMPLES, "secure_aggregation": {"threshold": 3}}),
    "distributed": experiment(
        "fedavg",
        {**NOISE, "where": "distributed", "seeded": True, "secure_aggregation": {"threshold": 3}},
    ),
}


@pytest.mark.rotating
@pytest.mark.parametrize("case", CASES)
def test_a_deployment_gives_the_bits_of_one_process(case, tmp_path):
    deployed = result(Fleet(tmp_path, CASES[case]).run())
    assert not deployed["events"]
    one = result(run(CASES[case], tmp_path / "one"))
    signed = "secure_aggregation" in CASES[case].privacy.model_fields_set
    assert (unsigned(deployed) == sizeless(one)) if signed else (deployed == one)


@pytest.mark.parametrize("where", ["server", "client"])
def test_a_servers_run_has_a_secret_where_it_draws_the_noise(where, tmp_path):
    """A file that nothing uses would be asked for when the run is continued."""
    spec = experiment(privacy={**NOISE, "where": where, "seeded": False})
    fleet = Fleet(tmp_path, spec)
    assert (fleet.run() / "secret").is_file() == (where == "server")


def test_a_node_has_a_secret_of_its_own_and_another_noise_in_each_run(tmp_path):
    spec = experiment(privacy={**NOISE, "where": "client"})
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    first, second = (made(folder, spec) for folder in folders)
    sent = [ask(node, request(spec), down(spec))[1][0] for node in (first, first, second)]
    assert sent[0] == sent[1]  # asked again: the same noise
    assert sent[0] != sent[2]
    other = ask(first, request(spec, run="fedcba9876543210"), down(spec))[1][0]
    assert other != sent[0]
    path = first.state / "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_bytes()) == 32


def numbers(message: bytes) -> torch.Tensor:
    return torch.cat([leaf.double().flatten() for leaf in leaves(decode(message))])


def moved(message: bytes) -> bytes:
    tree = decode(message)
    for leaf in leaves(tree):
        leaf += 0.001
    return encode(tree)


def test_two_messages_never_have_one_noise_though_the_state_is_put_back(tmp_path):
    """As after a backup: what the node forgot is asked with another message, with other noise. The
    same message has the same noise, so that a round that is asked again tells nothing.
    """
    spec = experiment(privacy={"noise": 10.0, "clip": 1.0, "delta": 1e-5, "where": "client"})
    node, one = made(tmp_path, spec), down(spec)
    ask(node, request(spec, steps=(), place=None))
    sent = []
    for message in (one, moved(one), one):
        made(tmp_path, spec)
        sent.append(numbers(ask(node, request(spec), message)[1][0]))
        for path in node.state.iterdir():
            if path.name != "secret":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert (sent[0] - sent[2]).abs().max() == 0
    # The secret is new in each run of this test: of 650 numbers an sd is off by 3 % (one sd).
    assert (sent[0] - sent[1]).std() == pytest.approx(10 * 2**0.5, rel=0.25)


def test_a_secret_that_is_gone_or_read_by_others_ends_the_nodes_work(tmp_path):
    spec = experiment(privacy={**NOISE, "where": "client"})
    node = made(tmp_path, spec)
    ask(node, request(spec), down(spec))
    path = node.state / "secret"
    path.chmod(0o644)
    assert "can be read by others" in ask(node, request(spec), down(spec))[0].error
    path.unlink()
    assert "is gone: without it" in ask(node, request(spec), down(spec))[0].error


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"noise": {"epsilon": 8, "delta": 1e-5}, "delta": None}, "give nodes a multiplier"),
        ({"budget": 8.0}, "leave it out, and set run.rounds"),
    ],
)
def test_what_a_node_cannot_know_is_refused(changes, why, tmp_path):
    given = {k: v for k, v in {**SAMPLES, **changes}.items() if v is not None}
    with pytest.raises(FedkinError, match=why):
        Fleet(tmp_path, experiment(privacy=given))


@pytest.mark.rotating
def test_a_target_is_a_multiplier_when_nodes_get_it(tmp_path):
    """A node that was given a target would add no noise."""
    target = {"noise": {"epsilon": 8, "delta": 1e-5}, "clip": 0.5, "where": "client"}
    fleet = Fleet(tmp_path, experiment(privacy=target))
    noise = spec_of(fleet.folder / "nodes" / "c1").privacy.noise
    assert isinstance(noise, float)
    assert noise > 0.5
    by_hand = made(tmp_path, experiment(privacy=target))
    reply, sent = ask(by_hand, request(experiment(privacy=target)), down(experiment()))
    assert not sent
    assert "nodes take a multiplier" in reply.error


def test_a_nodes_samples_are_noised_by_its_own_secret(tmp_path):
    """Two nodes with the same rows send different numbers, and each the same when asked again."""
    spec = experiment(privacy={**SAMPLES, "seeded": False})
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    first, second = (made(folder, spec) for folder in folders)
    sent = [ask(node, request(spec), down(spec))[1][0] for node in (first, first, second)]
    assert sent[0] == sent[1]
    assert sent[0] != sent[2]


def test_a_method_whose_messages_no_noise_covers_is_refused_by_the_node_too(tmp_path):
    spec = experiment("fedem", privacy=SAMPLES)
    node = made(tmp_path, spec)
    reply, sent = ask(node, request(spec), down(experiment("fedem")))
    assert not sent
    assert "privacy.unit = 'sample' does not fit fedem" in reply.error


def told(seen: list[tuple[str, list[bytes]]], op: str, round: int) -> list[bytes]:
    """The messages with which a step was asked."""
    found = ((opened(Request, parts[0]), parts[1:]) for _, parts in seen)
    return [
        message
        for request, messages in found
        for step in request.steps
        for message in messages
        if (step.op, step.round) == (op, round)
    ]


@pytest.mark.parametrize("privacy", [{}, {"where": "client"}, {"unit": "sample"}])
def test_a_round_is_told_to_nobody_before_the_one_before_it_is_committed(
    privacy, tmp_path, monkeypatch
):
    """Begun again from another model, it would be released twice."""
    spec = experiment(privacy={**NOISE, **privacy})
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"commit_every": 60.0})})
    fleet, push = Fleet(tmp_path, spec), Grid.push_messages
    committed = {}

    def watched(grid, messages):
        last = -1
        if (fleet.out / RECORD).is_file():
            with read_only(fleet.out) as database:
                last = database.last_round()
        before = len(grid.seen)
        ids = push(grid, messages)
        for round in (1, 2, 3):
            if told(grid.seen[before:], "local", round):
                committed.setdefault(round, last)
        return ids

    monkeypatch.setattr(Grid, "push_messages", watched)
    fleet.run()
    assert committed == {1: 0, 2: 1, 3: 2}


def cut_off_at(monkeypatch, fleet: Fleet, *step):
    """Run a deployment until nodes were told of a step, where its server is cut off."""
    push = Grid.push_messages

    def cut_off(grid, messages):
        ids = push(grid, messages)
        if told(grid.seen, *step):
            raise FedkinError("cut off")
        return ids

    monkeypatch.setattr(Grid, "push_messages", cut_off)
    with pytest.raises(FedkinError, match="cut off"):
        fleet.run()
    monkeypatch.setattr(Grid, "push_messages", push)


def test_a_server_that_was_cut_off_draws_other_noise_and_counts_the_round_again(
    tmp_path, monkeypatch
):
    """Nodes had the model of round 2: with the same noise and a client less, the difference of the
    two models would be this client's update.
    """
    spec = experiment(privacy=NOISE)
    fleet = Fleet(tmp_path, spec)
    cut_off_at(monkeypatch, fleet, "evaluate", 2)
    first, done = set(told(fleet.grid.seen, "evaluate", 2)), len(fleet.grid.seen)
    fleet.run()
    again = set(told(fleet.grid.seen[done:], "evaluate", 2))
    assert len(first) == len(again) == 1
    assert first != again
    with read_only(fleet.out) as database:
        facts = database.facts()
    assert (facts["released_again"], facts["under_way"]) == (1, False)
    assert facts["privacy"]["epsilon"] == pytest.approx(epsilon(mechanism_of(spec), 3 + 1))
    assert any("3 rounds and 1 that a server which was cut off" in said for said in facts["said"])
    for name in fleet.nodes:
        (kept,) = PrivacyLedger(fleet.folder / "nodes" / name / "state", None).runs()
        assert (kept.again, kept.epsilon) == (1, pytest.approx(facts["privacy"]["epsilon"]))


def test_what_was_released_again_costs_at_once_and_not_at_the_end_of_the_run(tmp_path, monkeypatch):
    """A run that is cut off twice, and never goes on, has cost its clients two rounds more."""
    spec = experiment(privacy=NOISE)
    fleet = Fleet(tmp_path, spec)
    for expected in (3, 3 + 1):
        fleet.grid.seen.clear()
        cut_off_at(monkeypatch, fleet, "evaluate", 2)
        cost = cost_of_record("1", fleet.out)
        assert cost.epsilon == pytest.approx(epsilon(mechanism_of(spec), expected))


def test_a_budget_holds_although_a_server_was_cut_off(tmp_path, monkeypatch):
    """It pays for the round that was released once more: training ends a round earlier."""
    most = epsilon(mechanism_of(experiment(privacy=NOISE)), 3)
    fleet = Fleet(tmp_path, experiment(privacy={**NOISE, "budget": most}))
    cut_off_at(monkeypatch, fleet, "evaluate", 2)
    fleet.run()
    with read_only(fleet.out) as database:
        facts, trained = database.facts(), database.last_trained()
    assert (facts["released_again"], trained) == (1, 2)
    assert facts["privacy"]["epsilon"] == pytest.approx(most)
    assert any("ended after round 2 of 3: privacy.budget had to pay" in s for s in facts["said"])
    for name in fleet.nodes:
        folder = fleet.folder / "nodes" / name
        (kept,) = PrivacyLedger(folder / "state", None).runs()
        assert (kept.again, kept.epsilon) == (1, pytest.approx(most))
        details = KeptModel(
            config.load(config.NodeConfig, folder, config.NODE), folder, None
        ).details
        assert (details.trained, details.again) == (2, 1)


def test_a_budget_of_one_round_has_no_room_for_it_once_more(tmp_path, monkeypatch):
    most = epsilon(mechanism_of(experiment(privacy=NOISE)), 1)
    fleet = Fleet(tmp_path, experiment(privacy={**NOISE, "budget": most}))
    cut_off_at(monkeypatch, fleet, "evaluate", 1)
    with pytest.raises(FedkinError, match="which the first round has used up"):
        fleet.run()


def test_a_last_round_that_is_done_again_finds_nodes_that_take_its_other_model(
    tmp_path, monkeypatch
):
    """A node is over once it was asked for the finish: not before the last round is committed."""
    fleet = Fleet(tmp_path, experiment(privacy=NOISE))
    cut_off_at(monkeypatch, fleet, "evaluate", 3)
    assert not result(fleet.run())["events"]
    with read_only(fleet.out) as database:
        assert not any("was not evaluated" in sentence for sentence in database.facts()["said"])
    for name in fleet.nodes:
        folder = fleet.folder / "nodes" / name
        details = KeptModel(
            config.load(config.NodeConfig, folder, config.NODE), folder, None
        ).details
        assert (details.trained, details.again) == (3, 1)


def test_a_server_that_was_cut_off_in_the_finish_released_nothing_again(tmp_path, monkeypatch):
    """Its last round was committed, so that nodes are told the same model."""

    def cut_off(*given):
        raise FedkinError("cut off")

    fleet = Fleet(tmp_path, experiment("finetune", privacy=NOISE))
    with monkeypatch.context() as patched:
        patched.setattr("fedkin.experiment.training._final_facts", cut_off)
        with pytest.raises(FedkinError, match="cut off"):
            fleet.run()
    with read_only(fleet.out) as database:
        assert database.facts()["under_way"]
    fleet.run()
    with read_only(fleet.out) as database:
        assert database.facts()["released_again"] == 0


@pytest.mark.parametrize("method", ["fedavg", "finetune"])
def test_a_server_that_was_stopped_between_rounds_counts_nothing_again(method, tmp_path):
    """Nor do nodes, one of which is asked for a finish of its own as well."""
    fleet = Fleet(tmp_path, experiment(method, privacy=NOISE))
    (fleet.folder / "stop").touch()
    with pytest.raises(Interrupted):
        fleet.run()
    fleet.run()
    with read_only(fleet.out) as database:
        assert database.facts()["released_again"] == 0
    for name in fleet.nodes:
        (kept,) = PrivacyLedger(fleet.folder / "nodes" / name / "state", None).runs()
        assert kept.again == 0


def test_a_server_that_invents_clients_cannot_take_a_nodes_share_of_the_noise_away(tmp_path):
    """Each of m participants adds σ C / √m, and a chosen threshold must be above half of m."""
    spec = CASES["distributed"]
    for clients in (6, 999_999):
        place = Place(client=1, clients=clients, classes=10, architecture="mlr")
        with pytest.raises(FedkinError, match=f"above half of the {clients} participants"):
            threshold_at(spec, place)
    assert threshold_at(spec, Place(client=1, clients=5, classes=10, architecture="mlr")) == 3


def test_a_node_refuses_a_newcomer_as_its_server_does():
    """The server may be another program: the sentence is one, under one code."""
    place = Place(client=5, clients=6, classes=10, architecture="mlr", joined=3)
    with pytest.raises(FedkinError, match="nobody accounts for a newcomer") as refused:
        threshold_at(CASES["client"], place)
    assert refused.value.code == "FED-703"
