"""Whole runs under masks: the plain run's bits, for every method with a sum; refused for others."""

import sqlite3
from collections import Counter
from contextlib import closing
from math import fsum

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.engine import masked_round
from fedkin.engine import masking as engine_masking
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.host import OPS
from fedkin.engine.masked_scores import DIGITS, PLACES, decode_places
from fedkin.engine.op import Task, TaskResult
from fedkin.engine.transports import processes
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.masks.agreement import SIGNED
from fedkin.masks.signatures import SIGNATURE, broadcast_digest
from fedkin.masks.wire import HEADER
from fedkin.methods import registry
from fedkin.methods.fedavg import fedavg
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from fedkin.runs.record import FEDERATION
from fedkin.runs.spec import parse
from fedkin.setup import build
from fedkin.setup.build import assemble
from tests.engine.small import FORKED, METHODS, content, outcome
from tests.masks.signers import identity, verifier

CLIENTS = 6


def spec(method="fedavg", masks=True, privacy=None, transforms=(), **settings):
    given = content(method, **{"run__participation": 1.0, **settings})
    asked = {"secure_aggregation": masks} if masks is not None else {}
    given["privacy"] = {**asked, **(privacy or {})}
    return parse({**given, "transforms": list(transforms)})[0]


def without_messages(folder):
    """All of a run's outcome but what masks may change: messages, what is said of scores, and the
    labels that each client has, which end a client's row.
    """
    apart = ("messages", "events", "metrics", "measures", "notes")
    kept = {key: value for key, value in outcome(folder).items() if key not in apart}
    return {**kept, "clients": [row[:-1] for row in kept["clients"]]}


def means(folder):
    """{(round, view, split): (loss, accuracy)} over clients, as a federation reports them."""
    with read_only(folder) as database:
        sizes = dict(database.rows("SELECT client, val FROM clients"))
        rows = database.rows("SELECT round, client, view, split, loss, accuracy FROM metrics")
    known = {}
    for at, client, view, split, *pair in rows:
        weight = 1 if client == FEDERATION or split != "val" else sizes[client]
        known.setdefault((at, view, split), []).append((weight, *pair))
    return {
        key: [fsum(w * pair[i] for w, *pair in each) / sum(w for w, *_ in each) for i in range(2)]
        for key, each in known.items()
    }


# one of each kind of sum: samples and uniform weights, changes, several kinds, personal states
METHOD_CASES = (
    "fedavg",
    "scaffold",
    "fedproto",
    "apfl",
    "fedem",
    "persfl",
    "fedbn",
    "l2sgd",
    "ds_fl",
    "fedmd",
)


@pytest.mark.certifies("masks", "law")
@pytest.mark.parametrize("method", METHOD_CASES)
def test_the_sum_under_masks_is_the_plain_sum_to_the_bit(method, tmp_path):
    plain = without_messages(run(spec(method, masks=None), tmp_path / "plain"))
    assert without_messages(run(spec(method), tmp_path / "masked")) == plain


@pytest.mark.parametrize(("method", "evaluate"), [("ditto", "all"), ("apfl", "panel:4")])
def test_scores_leave_as_sums_alone_and_are_the_plain_runs_means(method, evaluate, tmp_path):
    settings = {"run__evaluate": evaluate, "run__participation": 0.7}
    plain = means(run(spec(method, masks=None, **settings), tmp_path / "plain"))
    folder = run(spec(method, **settings), tmp_path / "masked")
    # the model of the last round is summed once, at the end: of two sums, one without a client, the
    # difference would be its scores
    expected = {key: pair for key, pair in plain.items() if key[0] != spec().run.rounds}
    assert len({key[0] for key in plain} - {key[0] for key in expected}) == 1
    assert means(folder) == {key: pytest.approx(pair, rel=1e-12) for key, pair in expected.items()}
    with read_only(folder) as database:
        for table in ("metrics", "measures"):
            assert database.rows(f"SELECT DISTINCT client FROM {table}") == [(FEDERATION,)]
        assert not database.rows("SELECT * FROM notes WHERE client != ?", FEDERATION)


def _asked(*messages):
    return [Task(client, message) for client, message in enumerate(messages)]


def test_what_nodes_sign_is_the_one_message_of_a_round():
    def verify(*_):
        return True

    same, another = b"the model", bytes(bytearray(b"the model"))
    assert masked_round.digest_of_sent(_asked(same, same, another), verify) == broadcast_digest(
        same
    )
    assert masked_round.digest_of_sent(_asked(same, b"other"), None) == b""
    with pytest.raises(FedkinError, match="the method sends clients different messages, and nodes"):
        masked_round.digest_of_sent(_asked(same, b"other"), verify)


def test_an_answer_to_an_evaluation_is_keys_and_nothing_else(tmp_path, monkeypatch):
    heard = []
    ask = InProcess.ask

    def listening(self, op, round, orders):
        for answer in ask(self, op, round, orders):
            if op.startswith("evaluate"):
                heard.append(answer)
            yield answer

    monkeypatch.setattr(InProcess, "ask", listening)
    run(spec("apfl"), tmp_path / "masked")
    assert {len(answer.message) for answer in heard} == {17 + 96}
    assert {repr(answer.record) for answer in heard} == {repr(Evaluation())}


def test_a_measure_that_one_client_has_does_not_leave_it(tmp_path, monkeypatch):
    """Its sum would be the client's own number; of two, each would know the other's."""
    asked = _listening(monkeypatch, "score_keys")
    sent = engine_masking.presence_of

    def few(record, samples):
        if record.notes["alpha"] is not alphas.setdefault("first", record.notes["alpha"]):
            record = record._replace(measures={})
        return sent(record, samples)

    alphas = {}
    monkeypatch.setattr(engine_masking, "presence_of", few)
    folder = run(spec("apfl"), tmp_path / "masked")
    places = {place for task in asked for place in decode_places(task.message)}
    assert {place.name for place in places} == {"loss", "accuracy"}
    with read_only(folder) as database:
        assert not database.rows("SELECT * FROM measures")
        found = database.rows("SELECT clients, without FROM counted WHERE name = 'macro_f1'")
        assert set(found) == {(0, CLIENTS)}
        assert any("that fewer clients have is left out" in x for x in database.facts()["said"])


def _listening(monkeypatch, stage):
    """The tasks of a stage, as they are asked."""
    ask, heard = InProcess.ask, []

    def listening(self, op, round, orders):
        orders = list(orders)
        heard.extend(orders if op == stage else [])
        yield from ask(self, op, round, orders)

    monkeypatch.setattr(InProcess, "ask", listening)
    return heard


def test_losses_that_most_have_not_are_no_divergence(tmp_path, monkeypatch):
    """Two of six have none: nothing of the loss is told, and training goes on."""
    sent = engine_masking.presence_of

    def lost(record, samples):
        seen.append(record)
        if len(seen) % CLIENTS in (1, 2):
            record = record._replace(scores={})
        return sent(record, samples)

    seen = []
    monkeypatch.setattr(engine_masking, "presence_of", lost)
    folder = run(spec(), tmp_path / "masked")
    with read_only(folder) as database:
        assert database.rows("SELECT DISTINCT loss FROM metrics") == [(None,)]


def test_a_client_that_is_away_when_scores_are_added_is_named(tmp_path, monkeypatch):
    _silent(monkeypatch, {"score_masked": [0]})
    folder = run(spec(masks={"threshold": 4}), tmp_path / "masked")
    assert [row for row in outcome(folder)["events"] if "not scored: its node" in repr(row)]
    _silent(monkeypatch, {"score_shares": [0], "score_masked": [1], "score_reveal": [2]})
    with pytest.raises(FedkinError, match="round 2: scores: secure aggregation needs 4 of 6"):
        run(spec(masks={"threshold": 4}), tmp_path / "few")


def test_patience_goes_by_the_sums(tmp_path):
    settings = {"run__patience": 2, "run__rounds": 12, "train__lr": 40.0}
    plain = without_messages(run(spec("fedavg", masks=None, **settings), tmp_path / "plain"))
    assert len(plain["rounds"]) < 14  # it ended early
    assert without_messages(run(spec("fedavg", **settings), tmp_path / "masked")) == plain


@pytest.mark.certifies("masks", "law")
def test_processes_and_resumed_runs_give_the_same_bits(tmp_path, monkeypatch):
    plain = outcome(run(spec("ditto", run__participation=0.6), tmp_path / "plain"))
    monkeypatch.setattr(processes, "subprocess", FORKED)
    engine = {"engine__name": "processes", "engine__workers": 2, "engine__state": "disk"}
    two = spec("ditto", run__participation=0.6, **engine)
    assert outcome(run(two, tmp_path / "two")) == plain
    free = spec("fedavg", run__participation=0.6, **engine)  # clients without a state of their own
    bits = outcome(run(free, tmp_path / "free"))
    assert bits == outcome(run(spec("fedavg", run__participation=0.6), tmp_path / "one"))

    class Stop(Exception):
        pass

    def stop(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(spec("ditto", run__participation=0.6), tmp_path / "stopped", progress=stop)
    assert outcome(resume(tmp_path / "stopped")) == plain


def test_the_ledger_counts_every_stage(tmp_path):
    folder = run(spec(), tmp_path / "masked")
    with read_only(folder) as database:
        rows = database.rows(
            "SELECT direction, copy, bytes, parameters FROM messages WHERE round = 1"
        )
        facts = database.facts()
    up = sorted(size for direction, _, size, _ in rows if direction == "up")
    header, n, numbers = 17, CLIENTS, 650
    all_three = 3 * n  # of the update, of who has which scores, and of the scores
    vectors = {
        header + 2 * 8 * len(PLACES): n,
        header + 3 * 8 * numbers: n,  # three digits a number
        header + DIGITS * 8 * 2 * len(_asked_for(folder)): n,
    }
    expected = {
        header + 96: all_three,  # keys
        header + n * (4 + 1 + 36): all_three,  # shares that are revealed
        header + (n - 1) * (4 + 2 * 36 + 16): all_three,
        **vectors,
    }
    assert Counter(up) == expected
    assert sum(count for direction, *_, count in rows if direction == "up") == n * numbers
    down = [(copy, size) for direction, copy, size, _ in rows if direction == "down"]
    assert down.count((0, header + n * (4 + 64))) == 3  # three rosters, the same for all
    assert down.count((1, header + n * (4 + 64))) == 3 * (n - 1)
    assert down.count((0, len(PLACES))) == 1  # which scores are asked for
    assert any("no update or score of a client: " in line for line in facts["said"])
    assert facts["spec"]["privacy"]["secure_aggregation"] == {"threshold": None}


def _signing(monkeypatch):
    """Clients of one process have identities, as those of nodes."""
    client, threshold = engine_masking.Masking._client, build.with_threshold

    def signing(self, one, *told):
        self._identity = identity(one)
        return client(self, one, *told)

    monkeypatch.setattr(engine_masking.Masking, "_client", signing)
    monkeypatch.setattr(
        build, "with_threshold", lambda *told: threshold(*told)._replace(verify=verifier())
    )


def test_clients_that_sign_who_survived_give_the_same_bits_for_a_message_more(
    tmp_path, monkeypatch
):
    plain = without_messages(run(spec("ditto"), tmp_path / "plain"))
    _signing(monkeypatch)
    folder = run(spec("ditto"), tmp_path / "signed")
    assert without_messages(folder) == plain
    with read_only(folder) as database:
        rows = database.rows("SELECT direction, copy, bytes FROM messages WHERE round = 1")
    n, found = CLIENTS, Counter(rows)
    assert found["up", 0, HEADER.size + SIGNATURE] == 3 * n  # of the update, the count, the scores
    assert found["down", 0, HEADER.size + n * SIGNED] == 3
    assert found["down", 1, HEADER.size + n * SIGNED] == 3 * (n - 1)
    assert found["down", 0, HEADER.size + n * 4] == 3  # who survived is said once
    _silent(monkeypatch, {"agree": [0, 3], "count_agree": [1], "score_agree": [2]})
    late = run(spec("ditto", masks={"threshold": 4}), tmp_path / "late")
    assert without_messages(late)["fingerprint"] == plain["fingerprint"]
    _silent(monkeypatch, {"reveal": [1]})
    with pytest.raises(
        FedkinError, match="round 2: secure aggregation needs 4 of 6 clients, and 3"
    ):
        run(spec("ditto", masks={"threshold": 4}), tmp_path / "few")


def _asked_for(folder):
    """The first round's scores and measures, of which no client lacks any."""
    with read_only(folder) as database:
        pairs = database.rows("SELECT view, split, loss, accuracy FROM metrics WHERE round = 1")
        measures = database.rows("SELECT view, split, name FROM measures WHERE round = 1")
    return [*measures, *(one for *_, loss, accuracy in pairs for one in (loss, accuracy))]


def _silent(monkeypatch, gone):
    """Clients that do not answer a stage of round 2."""
    ask = InProcess.ask

    def some(self, op, round, orders):
        for answer in ask(self, op, round, orders):
            if round == 2 and answer.client in gone.get(op, ()):
                answer = TaskResult(answer.client, error="its node is not connected")
            yield answer

    monkeypatch.setattr(InProcess, "ask", some)


def _lies(monkeypatch, stage, rounds=(2,)):
    """Client 0's vector of round 2 is of other masks than its own."""
    ask = InProcess.ask

    def lying(self, op, round, orders):
        for answer in ask(self, op, round, orders):
            lies = op == stage and round in rounds and answer.client == 0
            if lies and answer.message is not None:
                head, other = answer.message[: HEADER.size], bytes(range(1, 256))
                vector = (other * len(answer.message))[: len(answer.message) - len(head)]
                answer = answer._replace(message=head + vector)
            yield answer

    monkeypatch.setattr(InProcess, "ask", lying)


def test_what_was_sent_for_scores_that_have_no_sum_is_in_the_ledger(tmp_path, monkeypatch):
    def sent(folder):
        query = "SELECT client, direction, copy, bytes FROM messages WHERE round = 2"
        with read_only(folder) as database:
            return sorted(database.rows(query))

    whole = run(spec(), tmp_path / "whole")
    _lies(monkeypatch, "score_masked")
    without = run(spec(), tmp_path / "without")
    assert [row for row in outcome(without)["events"] if "scores: the sum under" in repr(row)]
    assert sent(without) == sent(whole)


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("stage", "rounds", "shown"),
    [
        ("count_masked", (3,), "of its scores those shown are of round 1"),
        ("score_masked", (3,), "of its scores those shown are of round 1"),
        ("score_masked", (1, 2, 3), "of its scores none is shown"),
    ],
)
def test_a_finished_model_that_nobody_could_score_is_kept(
    stage, rounds, shown, tmp_path, monkeypatch
):
    whole = outcome(run(spec(run__rounds=2), tmp_path / "whole"))["fingerprint"]
    _lies(monkeypatch, stage, rounds)
    folder = run(spec(run__rounds=2), tmp_path / "run")
    assert outcome(folder)["fingerprint"] == whole
    with read_only(folder) as database:
        facts = database.facts()
        assert not database.rows("SELECT round FROM metrics WHERE round = 3")
    assert facts["finished"]
    (said,) = facts["warnings"]
    assert said.startswith("the finished model has no scores, since a client lied in its evalu")
    assert said.endswith(shown)
    assert summary(folder)["warnings"] == [said]
    assert write_report(folder).is_file()


@pytest.mark.parametrize(("first", "of"), [("", ""), ("score_", "not scored: ")])
def test_who_was_away_when_another_lied_keeps_its_own_reason(first, of, tmp_path, monkeypatch):
    _lies(monkeypatch, f"{first}masked")
    _silent(monkeypatch, {f"{first}shares": [5]})
    folder = run(spec(masks={"threshold": 4}), tmp_path / "run")
    with read_only(folder) as database:
        why = dict(database.rows("SELECT client, text FROM events WHERE kind = 'missing'"))
    assert why.pop(5) == f"{of}its node is not connected"
    assert sorted(why) == [0, 1, 2, 3, 4]
    assert all("is no sum of messages" in text for text in why.values())


def test_who_drops_out_is_left_out_and_the_round_ends_right(tmp_path, monkeypatch):
    """Gone before its vector: the sum of the others. Gone after it: its vector counts."""
    _silent(monkeypatch, {"local": [0]})
    plain = without_messages(run(spec(masks=None), tmp_path / "plain"))["fingerprint"]
    for stage in ("shares", "masked"):
        _silent(monkeypatch, {stage: [0]})
        folder = run(spec(masks={"threshold": 4}), tmp_path / stage)
        found = outcome(folder)
        assert found["fingerprint"] == plain, stage
        assert [row for row in found["events"] if "not connected" in repr(row)]
    monkeypatch.undo()
    whole = without_messages(run(spec(masks=None), tmp_path / "whole"))["fingerprint"]
    _silent(monkeypatch, {"reveal": [0, 3]})
    late = outcome(run(spec(masks={"threshold": 4}), tmp_path / "late"))
    assert late["fingerprint"] == whole
    assert not [row for row in late["events"] if "not connected" in repr(row)]


def test_who_answers_another_state_is_not_in_the_sum(tmp_path, monkeypatch):
    ask = InProcess.ask

    def late(self, op, round, orders):
        for answer in ask(self, op, round, orders):
            stale = round == 2 and answer.client == 0 and op == "masked"
            yield answer._replace(version=0) if stale else answer

    monkeypatch.setattr(InProcess, "ask", late)
    found = outcome(run(spec(masks={"threshold": 4}), tmp_path / "late"))
    reason = "it answers the state after round 0 of the server, this round's is after round 1"
    assert [row for row in found["events"] if reason in repr(row)]
    _silent(monkeypatch, {"local": [0]})
    assert (
        found["fingerprint"]
        == without_messages(run(spec(masks=None), tmp_path / "plain"))["fingerprint"]
    )


def test_too_few_are_refused(tmp_path, monkeypatch):
    _silent(monkeypatch, {"shares": [0], "masked": [1], "reveal": [2]})
    with pytest.raises(FedkinError, match="round 2: secure aggregation needs 4 of 6 clients, and"):
        run(spec(masks={"threshold": 4}), tmp_path / "few")


def test_fewer_than_min_replies_are_refused(tmp_path, monkeypatch):
    _silent(monkeypatch, {"masked": [0]})
    with pytest.raises(FedkinError, match="round 2: 5 usable replies, at least 6 needed"):
        run(spec(masks={"threshold": 4}, run__min_replies=6), tmp_path / "few")


def test_a_client_whose_numbers_do_not_fit_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(masked_round, "digits_for", lambda weight: 5)
    with pytest.raises(FedkinError, match=r"0 answered masked .*client 0: numbers of 5 digits"):
        run(spec(), tmp_path / "digits")
    monkeypatch.setattr(masked_round, "digits_for", lambda weight: 2)
    with pytest.raises(FedkinError, match=r"client [0-5]: a number of its message, times"):
        run(spec(train__lr=1e4), tmp_path / "large")


REFUSED = [
    ({"method": "comet"}, "works on a declared sum of updates, and comet needs every message"),
    ({"method": "ppfl"}, "clients of ppfl .*try fedavg"),
    ({"transforms": [{"name": "median"}]}, "shows the server a sum alone, and a robust rule"),
    ({"transforms": [{"name": "norm_bound", "bound": 1.0}]}, "shows the server a sum alone"),
    ({"transforms": [{"name": "top_k", "share": 0.1}]}, "top_k sends only some of them"),
    ({"transforms": [{"name": "bfloat16"}]}, "take bfloat16 out of"),
    ({"masks": {"threshold": 7}}, "7, above the 6 participants of a round: take 5"),
    ({"masks": {"threshold": 3}}, "3, and must be above half of the 6"),
    (
        {"run__evaluate": "panel:2"},
        "the scores of 3 clients or more, and an evaluation asks 2: set run.evaluate to panel:3",
    ),
    ({"run__participation": 0.3}, "3 participants a round or more, and there are 2"),
    (
        {"privacy": {"noise": 1.0, "clip": 1.0, "delta": 1e-5}},
        "noise at the server works on each message",
    ),
]


@pytest.mark.parametrize(("settings", "why"), REFUSED)
def test_what_breaks_the_promise_is_refused_before_training(settings, why):
    with pytest.raises(FedkinError, match=why):
        assemble(spec(**settings))


def test_what_would_be_sent_beside_the_sum_is_refused():
    plain = fedavg(lr=0.1)

    def expected(received, info):
        return {**plain.expected_update(received, info), "control": {"n": torch.zeros(())}}

    with pytest.raises(FedkinError, match="send control/n beside the sum, one by one: try"):
        assemble(spec(), plain._replace(expected_update=expected))


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("yes", "write true, or"),
        ({"threshold": 0}, "threshold must be a number of participants"),
        ({"threshold": 0.7}, "threshold must be a number of participants"),
        ({"treshold": 4}, "write true, or"),
        (3, "write true, or"),
    ],
)
def test_what_is_no_setting_is_refused(asked, why):
    with pytest.raises(FedkinError, match=why):
        spec(masks=asked)


def test_every_method_with_a_sum_is_taken_or_refused_in_one_sentence():
    taken, refused = [], {}
    for name in registry():
        if name not in METHODS:
            continue
        try:
            assemble(spec(name))
            taken.append(name)
        except FedkinError as error:
            refused[name] = str(error)
    assert "clients of local send nothing" in refused.pop("local")
    assert all("secure_aggregation" in why for why in refused.values()), refused
    assert {*METHOD_CASES, "feddyn", "fedrod", "moon", "fedala"} <= set(taken)
    assert not {"comet", "kt_pfl", "ifca", "fedamp", "krum", "ppfl", "centralized"} & set(taken)


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["fedavg", "ds_fl"])
def test_noise_at_the_clients_goes_with_masks(method, tmp_path):
    noise = {"noise": 0.5, "clip": 1.0, "delta": 1e-5, "where": "client", "seeded": True}
    plain = without_messages(run(spec(method, masks=None, privacy=noise), tmp_path / "plain"))
    folder = run(spec(method, privacy=noise), tmp_path / "masked")
    assert without_messages(folder) == plain
    with read_only(folder) as database:
        assert any("NOT PRIVATE: privacy.seeded makes" in line for line in database.facts()["said"])


def test_keys_are_not_in_the_run_directory(tmp_path):
    folder = run(spec(), tmp_path / "masked")
    assert not [path for path in folder.rglob("*") if path.name == "secret"]
    with closing(sqlite3.connect(folder / "run.db")) as database:
        assert database.execute("SELECT count(*) FROM rounds").fetchone() == (5,)


def test_no_stage_answers_without_masks():
    parts = assemble(spec(masks=None))
    assert {"shares", "masked", "agree", "reveal"} <= set(OPS)
    assert parts.federation.threshold is None
