"""A run is read while another process writes it."""

import json
from pathlib import Path

from fedkin.runs import follow as module
from fedkin.runs.database import create, put_facts, put_rows
from fedkin.runs.follow import follow
from tests.awkward import LOST, TAKING_PART, messages, record


def test_a_round_has_what_its_rows_say(tmp_path: Path) -> None:
    run = record(tmp_path / "run")
    found = {one.round: one for one in follow(run, lambda: True, since=0)}
    assert list(found) == [1, 2, 3, 4]
    assert found[3].participants == TAKING_PART[3]
    assert found[3].missing == {0: LOST[3, 0]}
    assert [one.bytes for one in found[2].sent] == [one[3] for one in messages(2, TAKING_PART[2])]
    assert found[4].phase == "finish"
    loss, accuracy = found[2].scores[5]["global"]["val"]
    assert loss > 2
    assert accuracy != accuracy  # it was not measured


def test_only_later_rounds_come_and_the_last_look_is_after_the_end(
    tmp_path: Path, monkeypatch
) -> None:
    database = create(tmp_path / "run.db", {})
    rows = [(1, "round", json.dumps([4]), "{}"), (2, "round", json.dumps([0, 9]), "{}")]
    with database.commit() as into:
        put_rows(into, "rounds", rows[:1])
    steps = iter([False, True])

    def over() -> bool:
        ended = next(steps)
        if ended:  # the last commit comes just before the end is seen
            with database.commit() as into:
                put_rows(into, "rounds", rows[1:])
                put_facts(into, {"finished": True})
        return ended

    monkeypatch.setattr(module, "PAUSE", 0.0)
    assert [one.participants for one in follow(tmp_path, over)] == [[0, 9]]
    database.close()


def test_a_run_without_a_record_yet_has_no_rounds(tmp_path: Path) -> None:
    assert list(follow(tmp_path, lambda: True)) == []
