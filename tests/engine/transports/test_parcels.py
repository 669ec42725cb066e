"""Tasks and their results as rows and blobs."""

import json

from fedkin.engine.evaluation import Evaluation
from fedkin.engine.op import Task, TaskResult
from fedkin.engine.transports import parcels
from fedkin.engine.transports.parcels import gathered, pack, results, rows_of, tasks_of


class Places:
    """All places of a list, for one worker."""

    def up_to(self, end):
        return iter(range(end))


def test_a_message_crosses_once():
    tasks = [Task(4, b"a"), Task(1, None), Task(2, b"b"), Task(3, b"a", trained=7)]
    pairs, blobs = pack(tasks)
    assert blobs == [b"a", b"b"]
    header = json.loads(json.dumps({"tasks": pairs, "own": 3}))
    assert list(tasks_of(header, blobs, Places())) == tasks


def test_answers_come_back_as_they_were():
    answers = [
        TaskResult(7, b"up", 3.0, None, Evaluation({"personal": {}}, {"k": 2}), 0.5, True, None, 2),
        TaskResult(2, None, 4.0, held={"bytes": 9}, version=2),
        TaskResult(5, record=Evaluation(measures={"personal": {"test": {"auc": 0.5}}})),
        TaskResult(5, error="gone"),
        TaskResult(1, b"", 1.0),
    ]
    rows, messages = rows_of(answers)
    beside = iter([*messages, b"the sum"])
    assert list(results(json.loads(json.dumps(rows)), beside)) == answers
    assert next(beside) == b"the sum"


def test_large_answers_do_not_wait_for_others(monkeypatch):
    monkeypatch.setattr(parcels, "PARCEL_SECONDS", 1e9)
    monkeypatch.setattr(parcels, "PARCEL", 10)
    answers = [TaskResult(k, b"x" * size) for k, size in enumerate([4, 5, 2, 30, 1])]
    found = [([one.client for one in some], more) for some, more in gathered(answers)]
    assert found == [([0, 1, 2], True), ([3], True), ([4], False)]
