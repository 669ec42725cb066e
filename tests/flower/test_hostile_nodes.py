"""One registered node that lies: it is left out with a sentence, and the run goes on with the
others.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.core.tree import map_tree
from fedkin.engine.codec import decode, encode
from fedkin.flower.envelope import Facts, Refused, cleaned, opened
from fedkin.flower.node import data
from fedkin.runs.database import read_only
from tests.flower.cluster import experiment
from tests.flower.fleet import Fleet

Edit = Callable[[dict[str, Any], list[bytes]], None]
BAD_ROUND = 2


def rogue(
    fleet: Fleet, name: str, edit: Edit, op: str = "local", rounds: tuple[int, ...] = (BAD_ROUND,)
) -> None:
    """Let a node's replies be edited: the header as JSON, and the messages beside it."""
    node = fleet.nodes[name]
    honest = node.answer

    def answer(parts: list[bytes]) -> list[bytes]:
        header, *messages = honest(parts)
        content = json.loads(header)
        if any(step["op"] == op and step["round"] in rounds for step in content["steps"]):
            edit(content, messages)
        return [json.dumps(content).encode(), *messages]

    node.answer = answer


def step(op: str, **values: Any) -> Edit:
    def edit(content: dict[str, Any], messages: list[bytes]) -> None:
        for done in content["steps"]:
            if done["op"] == op:
                done.update(values)

    return edit


def tree(change: Callable[[Any], Any]) -> Edit:
    def edit(content: dict[str, Any], messages: list[bytes]) -> None:
        messages[-1] = encode(change(decode(messages[-1])))

    return edit


def filled(value: float) -> Edit:
    return tree(lambda message: map_tree(lambda leaf: torch.full_like(leaf, value), message))


def missing(fleet: Fleet) -> list[tuple[int, int, str]]:
    with read_only(fleet.run()) as database:
        assert database.facts()["finished"]
        return database.rows("SELECT round, client, text FROM events ORDER BY round, client")


WORK = {
    "an odd digest": (step("local", own={"round": 2, "digest": "abc"}), "digest"),
    "a short digest": (step("local", own={"round": 2, "digest": "ab"}), "digest"),
    "a round of 10**30": (step("local", own={"round": 10**30, "digest": "ab" * 32}), "round"),
    "a state of another round": (step("local", own={"round": 7, "digest": "ab" * 32}), "state"),
    "no state at all": (step("local", own={"round": 0, "digest": ""}), "state"),
    "a weight of 1e300": (step("local", weight=1e300), "weight"),
    "a weight that is a little more": (step("local", weight=1e3), "samples"),
    "enormous numbers": (filled(1e37), "too large|at most"),
    "large numbers": (filled(1e12), "too large|at most"),
    "a time that no clock shows": (step("local", seconds=1e300), "seconds"),
}


def test_who_lies_about_its_work_is_left_out_of_the_round(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=len(WORK) + 1))
    for round, (edit, _) in enumerate(WORK.values(), start=2):
        rogue(fleet, "c2", edit, rounds=(round,))
    found = missing(fleet)
    assert [row[:2] for row in found] == [(round, 2) for round in range(2, len(WORK) + 2)]
    for (_, _, why), (case, (_, reasons)) in zip(found, WORK.items(), strict=True):
        assert any(word in why for word in reasons.split("|")), (case, why)
        assert len(why) <= 300, case


SETUP = {
    "rows": tree(lambda m: {"predictions": m["predictions"][:-1].contiguous()}),
    "classes": tree(lambda m: {"predictions": torch.rand(60, 200_000 // 60)}),
    "another dtype": tree(lambda m: {"predictions": m["predictions"].double()}),
    "another kind": tree(lambda m: {"coefficients": m["predictions"]}),
    "enormous": filled(1e38),
}


@pytest.mark.rotating
@pytest.mark.parametrize("case", SETUP)
def test_who_introduces_itself_in_another_shape_is_left_out(case, tmp_path):
    fleet = Fleet(tmp_path, experiment("comet", run__rounds=2))
    rogue(fleet, "c1", SETUP[case], "introduce", (0,))
    assert [row[:2] for row in missing(fleet)] == [(0, 1)]


@pytest.mark.parametrize("value", [1e38, -1.0, 1e25, 3.0])
def test_a_histogram_that_is_none_ends_no_run(value, tmp_path):
    fleet = Fleet(tmp_path, experiment("ppfl", run__rounds=2))
    rogue(fleet, "c1", filled(value), "introduce", (0,))
    assert all(row[1] == 1 for row in missing(fleet))


@pytest.mark.rotating
@pytest.mark.parametrize("value", [10**9, -1, 2**62])
def test_a_cluster_that_there_is_not_ends_no_run(value, tmp_path):
    fleet = Fleet(tmp_path, experiment("ifca", run__rounds=3))

    def number(leaf: Any) -> Any:
        return value if isinstance(leaf, int) else leaf

    rogue(fleet, "c1", tree(lambda m: {kind: map_tree(number, part) for kind, part in m.items()}))
    assert all(row[:2] == (BAD_ROUND, 1) for row in missing(fleet))


def test_scores_and_notes_that_cannot_be_are_not_recorded(tmp_path):
    huge = {"a": "x" * 100_000}
    cases = {
        "accuracy": {"scores": {"personal": {"val": [0.5, 1e308], "test": [0.5, 0.5]}}},
        "negative": {"scores": {"personal": {"val": [0.5, -0.1], "test": [0.5, 0.5]}}},
        "no personal view": {"scores": {"mine": {"val": [0.5, 0.5], "test": [0.5, 0.5]}}},
        "view": {"scores": {"\x1b[31mpersonal": {"val": [0.5, 0.5], "test": [0.5, 0.5]}}},
        "text": {"notes": huge},
        "vector": {"notes": {"a": [0.0] * 200_000}},
        "deep": {"notes": {"a": [[[[0.0]]]]}},
        "number": {"notes": {"a": 10**400}},
        "name": {"notes": {"<script>": 1.0}},
        "attacker": {"notes": {"attacker": [1.0]}},
        "cost": {"notes": {"epsilon": 0.0}},
        "cluster": {"notes": {"cluster": 1e30}},
    }
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=len(cases) + 1))
    for round, values in enumerate(cases.values(), start=1):
        rogue(fleet, "c3", step("evaluate", **values), "evaluate", (round,))
    with read_only(fleet.run()) as database:
        last = f"round <= {len(cases)} AND client = 3"
        assert not database.rows(f"SELECT * FROM metrics WHERE {last}")
        assert not database.rows(f"SELECT * FROM notes WHERE {last}")
        said = [
            line for line in database.facts()["said"] if line.startswith("c3 was not evaluated")
        ]
        assert len(said) > 3
        assert all(len(line) < 400 and line.isprintable() for line in said)


def test_a_loss_beyond_all_measure_is_recorded_as_that_of_a_model_that_diverged(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=2))
    scores = {"personal": {"val": [1e308, 0.5], "test": [-1e300, 0.5]}}
    rogue(fleet, "c3", step("evaluate", scores=scores), "evaluate", (1,))
    with read_only(fleet.run()) as database:
        rows = database.rows("SELECT DISTINCT loss FROM metrics WHERE round = 1 AND client = 3")
    assert rows == [(None,)]


def test_an_error_is_a_sentence_however_long_and_wild_it_comes(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=2))
    wild = "\x1b[31mred\n\x00" + "x" * 3000
    rogue(fleet, "c2", lambda content, _: content.update(error=wild, steps=[]))
    (row,) = missing(fleet)
    assert row[:2] == (BAD_ROUND, 2)
    assert len(row[2]) <= 300
    assert row[2].isprintable()
    assert cleaned(" \x1b\n") == "it gives no reason"


def test_two_nodes_of_one_name_end_no_run(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=2))
    get = fleet.grid.get_nodes

    def nodes():
        found = list(get())
        twin = type(found[1])(**{**vars(found[1]), "node_id": 99})
        return [*found, twin] if len(fleet.grid.seen) > 4 else found

    fleet.grid.get_nodes = nodes
    ((client, why),) = {(row[1], row[2]) for row in missing(fleet)}
    assert client == 1
    assert why.startswith(
        "several nodes are connected as c1 (11, 99): revoke a key that is not its"
    )


HONEST = Facts(
    train=7, val=2, test=3, shape=(5,), dtype="float32", classes=4, task="classification",
    digest="ab" * 32,
)  # fmt: skip
LIES = {
    "shape": ({"shape": (6,)}, r"data of b have shape \(6,\), those of a \(5,\)"),
    "dtype": ({"dtype": "uint8"}, "data of b have dtype uint8, those of a float32"),
    "classes": ({"classes": 99_999}, "b says that its labels go up to 99,998, those of the others"),
    "samples": ({"train": 10**8, "val": 10**8, "test": 10**8}, None),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("case", LIES)
def test_who_lies_about_its_data_is_named_before_training(case, first, monkeypatch):
    """Also where it comes first: the others are the measure."""
    changes, reason = LIES[case]
    monkeypatch.setattr(data, "MOST_TOTAL", 10**7)
    lie = HONEST.model_copy(update=changes)
    told = {"b": lie, "a": HONEST, "c": HONEST} if first else {"a": HONEST, "c": HONEST, "b": lie}
    with pytest.raises(FedkinError, match=reason or "samples, b 300,000,000 of them"):
        data.unseen(experiment("fedavg"), list(told), list(told.values()))


def test_more_samples_than_the_server_has_room_to_number(monkeypatch):
    monkeypatch.setattr(data, "room", lambda: 4000)
    told = {"a": HONEST, "b": HONEST.model_copy(update={"test": 90})}
    with pytest.raises(FedkinError, match="samples, b 99 of them: more than the 100 that"):
        data.unseen(experiment("fedavg"), list(told), list(told.values()))


@pytest.mark.parametrize(
    "lie",
    [{"train": 10**12}, {"dtype": "load"}, {"shape": [10**6, 10**6]}, {"classes": 200_000}],
)
def test_facts_beyond_all_bounds_are_no_facts(lie):
    content = {**HONEST.model_dump(mode="json"), **lie}
    with pytest.raises(Refused, match=f"facts is malformed: {next(iter(lie))}"):
        opened(Facts, json.dumps(content).encode())


def test_a_quorum_closes_a_round_that_one_node_holds(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=2))
    fleet.configure(soft_deadline=0.05, quorum=0.75, poll=0.01)
    pull = fleet.grid.pull_messages

    def pulling(ids):
        """The fourth message of a round is never answered, from round 2 on."""
        ids = list(ids)
        return pull(ids if len(fleet.grid.seen) <= 8 else [id for id in ids if id not in late()])

    def late():
        return {id for id, name in fleet.grid.sent.items() if name == "c3"}

    fleet.grid.pull_messages = pulling
    found = missing(fleet)
    assert [row[:2] for row in found] == [(2, 3)]
    assert found[0][2] == "no reply within 0.05 seconds, when 3 others had replied"


def test_a_quorum_that_is_too_few_for_the_round_does_not_close_it(tmp_path):
    """Closed at a quorum of three, a round that needs four replies would end the run."""
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=1, run__min_replies=4))
    fleet.configure(soft_deadline=0.02, quorum=0.75, poll=0.01)
    pull, held = fleet.grid.pull_messages, []

    def pulling(ids):
        """The fourth message of the round is answered at the twentieth time of asking."""
        ids = list(ids)
        late = {id for id in ids if fleet.grid.sent[id] == "c3"} if len(fleet.grid.seen) > 4 else {}
        held.extend(late)
        return pull(ids if len(held) >= 20 else [id for id in ids if id not in late])

    fleet.grid.pull_messages = pulling
    assert missing(fleet) == []
    assert len(held) >= 20


def test_without_a_quorum_the_round_waits_for_its_deadline(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=1))
    fleet.configure(soft_deadline=0.01, quorum=1.0, poll=0.01, deadline=0.2)
    pull = fleet.grid.pull_messages
    late = {"c2"}

    def pulling(ids):
        held = {id for id, name in fleet.grid.sent.items() if name in late}
        return pull(id for id in ids if len(fleet.grid.seen) <= 4 or id not in held)

    fleet.grid.pull_messages = pulling
    (row, *_) = missing(fleet)
    assert row == (1, 2, "no reply within 0.2 seconds")


def test_a_clock_that_is_wrong_is_said_at_the_start(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=1))
    for name, by in (("c0", 900.0), ("c1", -900.0), ("c2", 1.0)):
        honest = fleet.nodes[name].answer

        def answer(parts, honest=honest, by=by):
            header, *rest = honest(parts)
            content = json.loads(header)
            if content["clock"] is not None:
                content["clock"] += by
            return [json.dumps(content).encode(), *rest]

        fleet.nodes[name].answer = answer
    with read_only(fleet.run()) as database:
        said = [line for line in database.facts()["said"] if "clock" in line]
    assert len(said) == 2
    assert re.match("the clock of c0 is (89[0-9]|900) s ahead of the server's", said[0])
    assert re.match("the clock of c1 is (89[0-9]|900) s behind the server's", said[1])
