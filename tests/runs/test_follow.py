"""A run is read while another process writes it."""

import json
import math
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.progress import Tally
from fedkin.runs import follow as module
from fedkin.runs.database import MEASURES, create, put_facts, put_rows
from fedkin.runs.follow import follow
from fedkin.runs.spec import Spec
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


def test_a_round_has_its_measures_and_what_privacy_has_cost(tmp_path: Path) -> None:
    database = create(tmp_path / "run.db", {})
    measured = [
        (1, 4, "personal", "test", "rmse", 0.5),
        (1, 4, "personal", "val", "rmse", None),
        (1, 9, "personal", "test", "rmse", 0.75),
        (2, 4, "personal", "test", "rmse", 0.25),
    ]
    with database.commit() as into:
        into.execute(MEASURES)
        put_rows(into, "measures", measured)
        scored = [(at, k, "personal", "test", 1.0, None) for at, k in ((1, 4), (1, 9), (2, 4))]
        put_rows(into, "metrics", scored)
        put_rows(into, "rounds", [(1, "round", "[4, 9]", "{}"), (2, "round", "[4]", "{}")])
        put_rows(into, "notes", [(1, 4, "epsilon", "1.5"), (1, 9, "epsilon", "2.5")])
        put_rows(into, "notes", [(1, 4, "cluster", "0")])
        put_facts(into, {"finished": True})
    database.close()
    first, second = follow(tmp_path, lambda: True, since=0)
    assert first.measures[9] == {"personal": {"test": {"rmse": 0.75}}}
    assert first.measures[4]["personal"]["test"] == {"rmse": 0.5}
    assert math.isnan(first.measures[4]["personal"]["val"]["rmse"])
    assert first.server_metrics == {"epsilon": {4: 1.5, 9: 2.5}}
    assert second.server_metrics == {}
    spec = Spec.model_validate({"run": {"measure": "rmse", "rounds": 2}})
    shown = Tally(spec, "")
    shown.add(first)
    assert (shown.measure, shown.means, shown.epsilon) == ("rmse", {"personal": 0.625}, 2.5)
    shown.add(second)
    assert (shown.measure, shown.means["personal"]) == ("rmse", 0.25)


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


def test_a_record_that_stays_damaged_is_said_at_the_end(tmp_path: Path) -> None:
    """While a run goes on its record may be held; once it is over nobody will mend it."""
    (tmp_path / "run.db").write_bytes(b"no database" * 100)
    looks = iter((False, True))
    with pytest.raises(FedkinError, match=r"run\.db"):
        list(follow(tmp_path, lambda: next(looks), since=0))
