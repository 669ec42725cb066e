"""One registered node that lies: it is left out with a sentence, and the run goes on with the
others.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytest.importorskip("flwr")

from fedkin.core.tree import map_tree
from fedkin.engine.codec import decode, encode
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


def test_two_nodes_of_one_name_end_no_run(tmp_path):
    fleet = Fleet(tmp_path, experiment("ditto", run__rounds=2))
    get = fleet.grid.get_nodes

    def nodes():
        found = list(get())
        twin = type(found[1])(**{**vars(found[1]), "node_id": 99})
        return [*found, twin] if len(fleet.grid.seen) > 4 else found

    fleet.grid.get_nodes = nodes
    assert {(row[1], row[2]) for row in missing(fleet)} == {
        (1, "two nodes are connected as c1: unregister one of them")
    }
