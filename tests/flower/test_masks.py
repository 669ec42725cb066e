"""Secure aggregation over Flower's messages: the bits of one process, and no update leaves."""

import hashlib
import json
from hashlib import shake_256

import numpy as np
import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.data.population import SPLITS
from fedkin.engine.codec import decode, encode
from fedkin.engine.masked_scores import PLACES
from fedkin.engine.op import SCORING, STAGES
from fedkin.experiment.run import run
from fedkin.flower.config import EXPERIMENT
from fedkin.flower.envelope import Base, NodeReply, Place, RemoteStep, Request
from fedkin.flower.identities import PEERS
from fedkin.flower.node.host import Node
from fedkin.flower.node.request_log import ASKED, DONE
from fedkin.flower.node.store import MODEL, NodeStore
from fedkin.flower.operator.site import add
from fedkin.flower.survivors import NOT_A_SURVIVOR, SURVIVORS
from fedkin.masks.agreement import SIGNED
from fedkin.masks.keys import pair_of
from fedkin.masks.server import MaskedSum
from fedkin.masks.signatures import SIGNATURE
from fedkin.masks.terms import LEAST, of_counts, of_scores
from fedkin.masks.wire import CLIENT, HEADER, Stage, of_client, opened, sealed
from fedkin.runs.database import read_only
from fedkin.runs.directory import states_of
from fedkin.runs.record import FEDERATION
from fedkin.runs.spec import Spec, parse
from fedkin.setup.build import assemble
from fedkin.setup.privacy import SEEDED_MASKS
from tests.engine.small import content
from tests.flower.cluster import experiment as plain_experiment
from tests.flower.cluster import result
from tests.flower.fleet import NAMES, Fleet
from tests.flower.node.test_host import ask, down, made, request
from tests.flower.reference import faulty

RUNS = {"run__clients": 4, "run__participation": 1.0, "run__rounds": 3, "run__commit_every": 0}


def experiment(method: str = "fedavg", seeded: bool = False, **settings) -> Spec:
    given = content(method, **{**RUNS, "engine__name": "inprocess", **settings})
    masks = {"secure_aggregation": {"threshold": 3}, "seeded": seeded}
    return parse({**given, "privacy": masks})[0]


def plain(method: str = "fedavg", **settings) -> Spec:
    return plain_experiment(method, **{**RUNS, **settings})


def sizeless(found):
    """The same but for the sizes of messages, since only nodes sign the keys of their masks, and
    for the fingerprint: nodes do not tell the sha256 of their personal states.
    """
    kept = [(*row[:5], *row[6:]) for row in found["messages"]]
    return {**found, "messages": sorted(kept, key=repr), "fingerprint": ""}


AGREEING = {
    ("up", HEADER.size + SIGNATURE),
    *(("down", HEADER.size + many * SIGNED) for many in range(LEAST, len(NAMES) + 1)),
}


def unsigned(deployed):
    """What nodes came to, but for their exchange about who survived, and for sizes."""
    kept = [row for row in deployed["messages"] if (row[3], row[5]) not in AGREEING]
    assert len(kept) < len(deployed["messages"])
    return sizeless({**deployed, "messages": kept})


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """What ditto gives in one process that nobody kills."""
    return sizeless(result(run(experiment("ditto"), tmp_path_factory.mktemp("at_once") / "run")))


def steps(parts: list[bytes]) -> list[tuple[str, int]]:
    return [(step.op, step.round) for step in Request.model_validate_json(parts[0]).steps]


def test_with_fewer_participants_and_evaluated_clients_nodes_work(tmp_path):
    """As many as their own experiment says, of whom one more would be refused."""
    asked = experiment(run__participation=0.75, run__evaluate="panel:3")
    deployed = result(Fleet(tmp_path, asked).run())
    assert not deployed["events"]
    assert unsigned(deployed) == sizeless(result(run(asked, tmp_path / "one")))


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("method", "seeded"), [("fedavg", False), ("ditto", True), ("scaffold", True)]
)
def test_a_deployment_gives_the_bits_of_one_process(method, seeded, tmp_path, capsys):
    """All of them: of a run for tests a node tells the sha256 of its states, and says loudly in its
    log that it hides nothing.
    """
    asked = experiment(method, seeded)
    deployed = result(Fleet(tmp_path, asked).run())
    assert capsys.readouterr().out.count(SEEDED_MASKS) == (len(NAMES) if seeded else 0)
    assert unsigned(deployed) == sizeless(result(run(asked, tmp_path / "one")))
    unmasked = result(run(plain(method), tmp_path / "plain"))
    assert deployed["fingerprint"] == unmasked["fingerprint"]
    assert {row[1] for row in deployed["metrics"]} == {FEDERATION}
    assert not [row for row in deployed["notes"] if row[1] != FEDERATION]
    assert not deployed["events"]


@pytest.mark.rotating
@pytest.mark.parametrize("slow", ["local", "masked", "reveal", "evaluate_all", "score_shares"])
def test_a_quorum_below_the_threshold_closes_no_stage(slow, tmp_path):
    """Closed at a quorum of two, a stage that needs three replies would end the run."""
    fleet = Fleet(tmp_path, experiment(run__rounds=1))
    fleet.configure(soft_deadline=0.02, quorum=0.5, poll=0.01)
    pull, push, held = fleet.grid.pull_messages, fleet.grid.push_messages, []
    slow_ones = set()

    def pushing(messages):
        """Two nodes of four take their time over one stage."""
        began = len(fleet.grid.seen)
        ids = push(messages)
        for id, (name, parts) in zip(ids, fleet.grid.seen[began:], strict=True):
            if name in ("c2", "c3") and slow in dict(steps(parts)):
                slow_ones.add(id)
        return ids

    def pulling(ids):
        ids = list(ids)
        late = slow_ones.intersection(ids)
        held.extend(late)
        return pull(ids if len(held) >= 20 else [id for id in ids if id not in late])

    fleet.grid.pull_messages, fleet.grid.push_messages = pulling, pushing
    with read_only(fleet.run()) as database:
        assert database.facts()["finished"]
    assert len(held) >= 20


@pytest.mark.rotating
def test_no_update_leaves_a_node(tmp_path, monkeypatch):
    """What a node says of its work is keys; what it sends later is as large as masks make it."""
    sent: dict[str, set[int]] = {}
    answer = Node.answer

    def heard(self, parts):
        reply = answer(self, parts)
        for op, _ in steps(parts):
            sent.setdefault(op, set()).update(map(len, reply[1:]))
        for done in NodeReply.model_validate_json(reply[0]).steps:
            assert not done.scores
            assert not done.notes
            assert not done.measures
        return reply

    monkeypatch.setattr(Node, "answer", heard)
    fleet = Fleet(tmp_path, experiment("ditto"))
    fleet.run()
    assert sent["local"] == {HEADER.size + 96 + SIGNATURE}
    assert sent["shares"] == {HEADER.size + 3 * (CLIENT.size + 88)}
    assert sent["masked"] == {HEADER.size + 3 * 8 * 650}
    assert sent["agree"] == sent["count_agree"] == {HEADER.size + SIGNATURE}
    assert sent["reveal"] == {HEADER.size + 4 * (CLIENT.size + 37)}
    assert sent["evaluate"] == sent["evaluate_all"] == sent["local"]
    assert sent["score_keys"] == sent["local"]
    assert sent["count_masked"] == {HEADER.size + 2 * 8 * len(PLACES)}
    assert len(sent["score_masked"]) == 2  # measures are of the end
    asked = [steps(parts) for name, parts in fleet.grid.seen if name == "c1"][1:16]
    assert asked == [
        [("local", 1)],
        [("shares", 1)],
        [("masked", 1)],
        [("agree", 1)],
        [("reveal", 1)],
        [("evaluate", 1), ("local", 2)],
        [("count_shares", 1)],
        [("count_masked", 1)],
        [("count_agree", 1)],
        [("count_reveal", 1)],
        [("score_keys", 1)],
        [("score_shares", 1)],
        [("score_masked", 1)],
        [("score_agree", 1)],
        [("score_reveal", 1)],
    ]


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["ditto", "scaffold"])
def test_what_a_node_calls_its_state_confirms_no_guess_of_its_data(method, tmp_path):
    """Whoever guesses all of them makes the state in one process, to the bit. A server under masks
    sees neither it nor what is sent of it, and shall not know by its sha256 that the guess is
    right, to the last row.
    """
    fleet = Fleet(tmp_path, experiment(method))
    record = fleet.run()
    told = {
        bytes(decode(path.read_bytes())["digest"].tolist()).hex()
        for path in states_of(record).glob("[0-9]*.safetensors")
    }
    guessed = states_of(run(experiment(method), tmp_path / "guess"))
    made = {hashlib.sha256(path.read_bytes()).hexdigest() for path in guessed.glob("[0-9]*")}
    assert len(told) == len(made) == len(NAMES)
    assert not told & made


def _impostor(monkeypatch, of):
    """A server that puts its own keys in the place of a client's."""
    roster = MaskedSum.roster

    def changed(self):
        entries = {client: self._public[client] for client in self._public}
        self._public = {**entries, of: pair_of(bytes(32)).public + entries[of][32:]}
        return roster(self)

    monkeypatch.setattr(MaskedSum, "roster", changed)


def test_a_server_that_passes_on_its_own_keys_is_found_out(tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, experiment())
    _impostor(monkeypatch, 2)
    with pytest.raises(FedkinError, match="the keys of client 2 are not signed by its node"):
        fleet.run()


@pytest.mark.parametrize("op", ["local", "evaluate"])
def test_a_server_that_sends_others_another_model_has_no_sum(op, tmp_path, monkeypatch):
    """Their part of the sum would be what the server chose, and the rest one client's own."""
    monkeypatch.setattr("fedkin.flower.server.verifier", lambda *_: lambda *_: True)
    fleet, answer = Fleet(tmp_path, experiment()), Node.answer

    def misled(self, parts):
        if self.config.client != "c0" and (op, 1) in steps(parts) and len(parts) > 1:
            model = decode(parts[1])
            next(iter(model["parameters"].values())).fill_(9.0)
            parts = [parts[0], encode(model)]
        return answer(self, parts)

    monkeypatch.setattr(Node, "answer", misled)
    with pytest.raises(FedkinError, match=r"round 1.* needs 3 of 4 clients") as ended:
        fleet.run()
    said = "client 0: roster: the keys of client 1 are not signed by its node, or the server sent"
    assert said in str(ended.value)


@pytest.mark.rotating
@pytest.mark.parametrize("first", ["", "count_", "score_"])
@pytest.mark.parametrize("honest", [True, False])
def test_a_server_that_tells_nodes_other_survivors_has_no_sum(first, honest, tmp_path, monkeypatch):
    """By the nodes' own check, whatever the server's is: else it could have a sum of too few."""
    if not honest:
        monkeypatch.setattr("fedkin.flower.server.verifier", lambda *_: lambda *_: True)
    fleet, answer = Fleet(tmp_path, experiment()), Node.answer
    told = {"c0": (0, 1, 2), "c1": (0, 1, 3), "c2": (0, 2, 3), "c3": (0, 1, 3)}
    revealed = []

    def misled(self, parts):
        asked, name = steps(parts), self.config.client
        if (f"{first}agree", 1) in asked:
            session = HEADER.unpack_from(parts[1])[2]
            survivors = [of_client(one) for one in told[name]]
            parts = [parts[0], sealed(Stage.SURVIVORS, session, survivors)]
        if (f"{first}reveal", 1) in asked:
            session = HEADER.unpack_from(parts[1])[2]
            signed = opened(Stage.SIGNED, session, parts[1], SIGNED, 4).entries
            among = [one for one in signed if CLIENT.unpack_from(one)[0] in told[name]]
            parts = [parts[0], sealed(Stage.SIGNED, session, among)]
        reply = answer(self, parts)
        revealed.extend(reply[1:] if (f"{first}reveal", 1) in asked else [])
        return reply

    monkeypatch.setattr(Node, "answer", misled)
    with pytest.raises(FedkinError, match=r"round 1.* needs 3 of 4 clients, and 0 an") as ended:
        fleet.run()
    why = (
        "client 0: agree: its node did not sign the survivors that it was told"
        if honest
        else "client 0: signed: client 1 did not sign the survivors that this client was told in th"
    )
    assert why in str(ended.value)
    assert not revealed


@pytest.mark.rotating
def test_a_node_signs_one_set_of_survivors_a_round(tmp_path, monkeypatch):
    """Also where its host was started again, and for its scores."""

    def killed(node):
        raise Killed

    for number, first in enumerate(("", "count_", "score_")):
        fleet, op = Fleet(folder(tmp_path, str(number)), experiment()), f"{first}agree"
        with monkeypatch.context() as patch:
            _broken(patch, op, killed)
            with pytest.raises(Killed):
                fleet.run()
        seen = [parts for name, parts in fleet.grid.seen if name == "c0"]
        header, told = next(parts for parts in seen if steps(parts) == [(op, 2)])
        session = HEADER.unpack_from(told)[2]
        others = sealed(Stage.SURVIVORS, session, [of_client(one) for one in (0, 1, 3)])
        for why in ("comes next", "has no work of round 2 that waits"):
            for blob, said in ((told, why), (others, f"{op} 2 was asked once already, with diffe")):
                reply = NodeReply.model_validate_json(fleet.nodes["c0"].answer([header, blob])[0])
                assert said in (reply.error or reply.steps[0].error)
            fleet.nodes["c0"]._host = None


def test_a_node_that_signs_reveals_for_no_list_alone(tmp_path, monkeypatch):
    """A server that leaves the exchange out, as one of an earlier version did, has no share."""
    fleet, answer = Fleet(tmp_path, experiment()), Node.answer
    said = []

    def listening(self, parts):
        if ("agree", 1) in steps(parts):
            asked = Request.model_validate_json(parts[0])
            asked = asked.model_copy(update={"steps": (RemoteStep(op="reveal", round=1),)})
            reply = answer(self, [asked.model_dump_json().encode(), parts[1]])
            said.append(NodeReply.model_validate_json(reply[0]).steps[0].error)
            assert len(reply) == 1
        return answer(self, parts)

    monkeypatch.setattr(Node, "answer", listening)
    with pytest.raises(FedkinError, match="needs 3 of 4 clients, and 0 answered agree"):
        fleet.run()
    assert said == ["signed was asked for, and survivors comes next in round 1"] * 4


@pytest.mark.rotating
def test_a_newcomer_becomes_a_client(tmp_path):
    """Its key is in the lists that deploy add wrote: who has an old one refuses to work with it."""
    fleet = Fleet(tmp_path, experiment(run__clients=4), own_data=True)
    people = assemble(experiment(run__clients=5)).population
    old = (fleet.folder / "nodes" / "c1" / PEERS).read_bytes()
    made = add(fleet.folder, "late")
    fleet.nodes["late"] = Node(made)
    fleet.grid.names.append("late")
    fleet.configure(clients=(*fleet.nodes,))
    for client, name in enumerate(fleet.nodes):
        place = fleet.folder / "nodes" / name
        parts = {
            f"{kind}_{part}": values.numpy()
            for part in SPLITS
            for kind, values in zip("xy", people.part(client, part), strict=True)
        }
        np.savez(place / "data.npz", **parts)
        text = (place / EXPERIMENT).read_text().replace("clients = 4", "clients = 5")
        (place / EXPERIMENT).write_text(text)
    (fleet.folder / EXPERIMENT).write_text(text)
    (fleet.folder / "nodes" / "c1" / PEERS).write_bytes(old)
    found = result(fleet.run())
    assert {event[1] for event in found["events"]} == {1}
    assert "the keys of client 4 are not signed by its node" in found["events"][0][3]


def test_a_server_that_names_few_clients_has_no_sum_of_few(tmp_path, monkeypatch):
    """A sum of as few as it can bring to tell it theirs would give it the one update left."""
    spec = parse({**content("fedavg", **RUNS), "privacy": {"secure_aggregation": True}})[0]
    fleet = Fleet(tmp_path, spec, own_data=True)
    people = assemble(experiment(run__clients=4)).population
    for client, name in enumerate(fleet.nodes):
        parts = {
            f"{kind}_{part}": values.numpy()
            for part in SPLITS
            for kind, values in zip("xy", people.part(client, part), strict=True)
        }
        np.savez(fleet.folder / "nodes" / name / "data.npz", **parts)
    fleet.configure(clients=("c0", "c1", "c2"))
    with pytest.raises(FedkinError, match=r"names 3 clients, and run\.clients .* is 4, by which"):
        fleet.run()
    monkeypatch.setattr("fedkin.flower.backend.check_clients", lambda *_: None)  # it is dishonest
    with pytest.raises(FedkinError, match="secure aggregation needs 3 of 3 clients") as ended:
        fleet.run()
    assert "client 0: deployment.toml names 3 clients, and run.clients" in str(ended.value)


@pytest.mark.rotating
@pytest.mark.parametrize("change", ["missing", "another", "none"])
def test_a_node_without_the_others_keys_does_no_work(change, tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, experiment())
    peers = fleet.folder / "nodes" / "c1" / PEERS
    lines = peers.read_bytes().splitlines(keepends=True)
    assert [line.split()[-1] for line in lines] == [b"c0", b"c1", b"c2", b"c3"]
    if change == "missing":
        peers.unlink()
    else:
        peers.write_bytes(b"".join(lines[::-1] if change == "another" else [*lines[:3], b"x\n"]))
    found = result(fleet.run())
    assert {event[1] for event in found["events"]} == {1}
    why = {
        "missing": "cannot be read, by which nodes know",
        "another": "are not signed by its node",
    }
    assert why.get(change, "line 4 is no ECDSA key") in found["events"][0][3]


def _broken(monkeypatch, stage, act, name="c1", round=2):
    """A host does something else once, when it is asked for a stage of a round."""
    answer, done = Node.answer, []

    def broken(self, parts):
        if self.config.client == name and (stage, round) in steps(parts) and not done:
            done.append(stage)
            act(self)
        return answer(self, parts)

    monkeypatch.setattr(Node, "answer", broken)


@pytest.mark.rotating
@pytest.mark.parametrize("stage", ["shares", "masked"])
def test_a_host_that_is_started_again_is_left_out(stage, tmp_path, monkeypatch):
    """What it held back is gone with its process: the others' sum is right."""

    def restarted(node):
        node._host = None

    _broken(monkeypatch, stage, restarted)
    found = result(Fleet(tmp_path, experiment()).run())
    (event,) = found["events"]
    assert event[:3] == (2, 1, "missing")
    assert "has no work of round 2 that waits" in event[3]
    others = result(faulty(plain(), tmp_path / "plain", rejected=[(2, 1)]))
    assert found["fingerprint"] == others["fingerprint"]


class Killed(Exception):
    pass


@pytest.mark.rotating
@pytest.mark.parametrize(
    "stage",
    [*STAGES, *(pytest.param(stage, marks=pytest.mark.slow) for stage in SCORING)],
)
def test_a_server_that_was_killed_between_two_stages_goes_on(stage, at_once, tmp_path, monkeypatch):
    def killed(node):
        raise Killed

    _broken(monkeypatch, stage, killed)
    fleet = Fleet(tmp_path, experiment("ditto"))
    with pytest.raises(Killed):
        fleet.run()
    found = result(fleet.run())
    assert unsigned(found) == at_once


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("stage", "name"),
    [
        ("evaluate", "c0"),
        ("reveal", "c2"),
        ("count_agree", "c2"),
        ("count_reveal", "c2"),
        ("score_reveal", "c2"),
    ],
)
def test_a_server_that_was_killed_after_masks_were_taken_off_goes_on(
    stage, name, tmp_path, monkeypatch
):
    """A client that was missing then is missing again, though it is back; of the others all are
    needed.
    """

    def away(node):
        fleet.grid.absent = {"c3"}

    def killed(node):
        raise Killed

    fleet = Fleet(tmp_path, experiment())
    fleet.configure(wait=0.1)
    _broken(monkeypatch, "reveal", away, "c0", 1)
    _broken(monkeypatch, stage, killed, name, 2)
    with pytest.raises(Killed):
        fleet.run()
    assert json.loads((fleet.out / SURVIVORS).read_text())["agree 2"] == [0, 1, 2]
    fleet.grid.absent = {"c1"}
    with pytest.raises(
        FedkinError, match=f"needs 3 of 4 clients, and 2 .* client 3: {NOT_A_SURVIVOR}"
    ):
        fleet.run()
    fleet.grid.absent = set()
    found = result(fleet.run())
    assert (2, 3) in {event[:2] for event in found["events"] if NOT_A_SURVIVOR in event[3]}
    assert max(event[0] for event in found["events"]) == 2


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["c0", pytest.param("c3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("stage", ["evaluate_all", *SCORING])
def test_a_server_that_was_killed_while_the_last_scores_leave_goes_on(
    stage, name, at_once, tmp_path, monkeypatch
):
    """Some nodes are done with the run, and tell their scores again."""

    def killed(node):
        raise Killed

    _broken(monkeypatch, stage, killed, name, RUNS["run__rounds"] + 1)
    fleet = Fleet(tmp_path, experiment("ditto"))
    with pytest.raises(Killed):
        fleet.run()
    found = result(fleet.run())
    assert unsigned(found) == at_once


def test_too_few_nodes_end_the_run_in_one_sentence(tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, experiment())
    monkeypatch.setattr(fleet.grid, "absent", set())
    get = fleet.grid.get_nodes

    def nodes():
        if fleet.grid.seen and ("masked", 2) in steps(fleet.grid.seen[-1][1]):
            fleet.grid.absent = {"c1", "c3"}
        return get()

    monkeypatch.setattr(fleet.grid, "get_nodes", nodes)
    with pytest.raises(
        FedkinError, match="round 2: secure aggregation needs 3 of 4 clients, and 2"
    ):
        fleet.run()


def folder(path, name):
    (path / name).mkdir()
    return path / name


def _asked(spec, op, round, base, **changes):
    return request(spec, steps=(RemoteStep(op=op, round=round),), base=base, **changes)


def test_a_node_reveals_for_one_set_of_survivors(tmp_path):
    spec = experiment()
    node = made(tmp_path, spec, insecure=True)
    first, (keys,) = ask(node, _asked(spec, "local", 1, Base()), down(spec))
    base = first.steps[0].own
    assert len(keys) == HEADER.size + 96
    ask(node, _asked(spec, "evaluate", 1, base), down(spec))
    sessions = (("reveal", 1), ("count_reveal", of_counts(1)), ("score_reveal", of_scores(1)))
    for op, session in sessions:
        for survivors in ([0, 1, 2], [0, 1, 3]):
            blob = sealed(Stage.SURVIVORS, session, [of_client(one) for one in survivors])
            reply, sent = ask(node, _asked(spec, op, 1, base), blob)
            assert not sent
            why = reply.error or reply.steps[0].error
            if survivors == [0, 1, 2]:
                assert "reveal was" not in why
                assert "comes next" in why
            else:
                assert f"{op} 1 was asked once already, with different messages" in why


def test_what_waits_in_one_run_is_revealed_in_no_other(tmp_path):
    """A server that names another run, of which nothing was revealed yet, would have a second sum
    of the same messages, with the same noise in them.
    """
    spec = experiment()
    node = made(tmp_path, spec, insecure=True)
    base = ask(node, _asked(spec, "local", 1, Base()), down(spec))[0].steps[0].own
    ask(node, _asked(spec, "evaluate", 1, base), down(spec))
    other = {"run": "f" * 16}
    for op in (*STAGES, *SCORING):
        reply, sent = ask(node, _asked(spec, op, 1, Base(), **other), b"x")
        assert "this client has no work of round 1 that waits" in reply.steps[0].error
        assert not sent


def test_a_node_keeps_its_own_scores_and_is_done_after_the_last_sum(tmp_path):
    """Its model is kept with what it measured itself; then nothing new is answered."""
    fleet = Fleet(tmp_path, experiment("ditto"))
    fleet.run()
    for node in fleet.nodes.values():
        (folder,) = [path for path in node.state.iterdir() if path.is_dir()]
        kept = NodeStore(folder).find(MODEL)
        assert kept.details["scores"]["personal"]["test"]
        assert (folder / ASKED).read_text().splitlines()[-1] == DONE


def test_stages_are_asked_for_one_by_one_and_not_without_masks(tmp_path):
    spec = experiment()
    node = made(folder(tmp_path, "masked"), spec, insecure=True)
    both = request(
        spec, steps=(RemoteStep(op="shares", round=1), RemoteStep(op="local", round=2)), base=Base()
    )
    assert "shares is asked for by itself" in ask(node, both, b"x")[0].error
    assert (
        "no work of round 1" in ask(node, _asked(spec, "shares", 1, Base()), b"x")[0].steps[0].error
    )
    other = plain()
    node = made(folder(tmp_path, "plain"), other, insecure=True)
    why = ask(node, _asked(other, "masked", 1, Base()), b"x")[0].steps[0].error
    assert "this experiment has no secure aggregation" in why


def test_a_newcomer_is_not_asked_for_its_update(tmp_path):
    spec = experiment()
    node = made(tmp_path, spec, insecure=True)
    place = Place(client=3, clients=4, classes=10, architecture="mlr", joined=3)
    reply, sent = ask(node, _asked(spec, "local", 4, Base(), place=place), down(spec))
    assert "a newcomer works alone" in reply.error
    assert not sent


def _garbled(monkeypatch, wanted):
    """A node, c3, whose masked vectors are of nobody's keys, where ``wanted`` says so."""
    answer = Node.answer

    def lying(self, parts):
        reply = answer(self, parts)
        if self.config.client == "c3" and any(map(wanted, steps(parts))) and len(reply) > 1:
            noise = shake_256(b"other keys").digest(len(reply[1]) - HEADER.size)
            reply[1] = reply[1][: HEADER.size] + noise
        return reply

    monkeypatch.setattr(Node, "answer", lying)


def test_a_node_that_masks_with_other_keys_costs_a_round_and_no_run(tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, experiment())
    _garbled(monkeypatch, lambda step: step in (("masked", 2), ("count_masked", 1)))
    found = result(fleet.run())
    said = [(row[0], row[1], row[3]) for row in found["events"]]
    no_sum = ": the sum under masks is no sum of messages: a client did not mask what it sent"
    why = {1: "not scored: round 1: scores" + no_sum, 2: "round 2" + no_sum}
    assert {(round, client) for round, client, _ in said} == {(r, c) for r in why for c in range(4)}
    assert all(text.startswith(why[round]) for round, _, text in said)
    # the finish alone evaluates the models of the last round
    assert {row[0] for row in found["metrics"]} == {2, 4}


def test_a_node_that_spoils_every_round_ends_the_run_by_its_round(tmp_path, monkeypatch):
    fleet = Fleet(tmp_path, experiment(run__rounds=4))
    _garbled(monkeypatch, lambda step: step[0] == "masked")
    said = (
        r"round 3: the sum .*So it was in 3 rounds one after the other, with client 0, .*client 3"
    )
    with pytest.raises(FedkinError, match=said):
        fleet.run()
