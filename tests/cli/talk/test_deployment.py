"""How a deployment is, in lines and as JSON."""

import json
from typing import Any

import pytest

from fedkin.cli.talk.deployment import print_status

NODES = [
    {"name": "a", "status": "connected"},
    {"name": "b", "status": "not connected"},
    {"name": "c", "status": "connected"},
]
RUN = {"run": "2", "status": "going on", "round": 1, "rounds": 9, "waiting": "waiting for b"}


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (None, "run        none yet"),
        (RUN, "run 2      going on, round 1 of 9 committed, waiting for b"),
        (RUN | {"waiting": ""}, "run 2      going on, round 1 of 9 committed"),
    ],
)
def test_nodes_are_told_by_what_they_do(
    run: Any, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"superlink": "10.1.2.3:9092", "nodes": NODES, "run": run, "privacy": None}
    print_status(found, [], False)
    assert capsys.readouterr().out.splitlines() == [
        "SuperLink  10.1.2.3:9092",
        "nodes      2 connected: a, c",
        "nodes      1 not connected: b",
        line,
    ]
    print_status(found, [], True)
    assert json.loads(capsys.readouterr().out) == found
