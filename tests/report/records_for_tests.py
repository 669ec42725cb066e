"""Run directories written row by row, with numbers small enough to check by hand."""

import json
from pathlib import Path
from typing import Any

from fedkin.runs.database import create, put_facts, put_rows

KINDS = 5  # parameters, predictions, centroids, coefficients, control

CLIENTS = [  # client, name, architecture, train, val, test, histogram
    (0, "a", "dnn", 20, 4, 10, "[15, 5]"),
    (1, "b", "dnn", 40, 4, 30, "[0, 40]"),
    (2, "c", "cnn", 60, 8, 60, "[30, 30]"),
]
TEST = {
    1: [1.0, 0.6, 0.8],
    2: [0.9, 0.5, 0.7],
    3: [0.5, 0.5, 0.8],
}  # personal accuracy by round; 3 is the finish
VAL = {1: [0.75, 0.75, 0.5], 2: [0.25, 0.5, 1.0], 3: [0.5, 0.5, 0.5]}
LOSS = [1.0, 2.0, 3.0]  # by client, in every round
SECONDS = {
    0: {"total": 1.0},
    1: {"local": 2.0, "server": 0.5, "evaluation": 1.0, "total": 4.0},
    2: {"local": 4.0, "server": 0.5, "evaluation": 1.0, "total": 6.0},
    3: {"local": 1.0, "evaluation": 2.0, "total": 3.0},
}
NOTES = [  # round, client, name, value
    (1, 0, "cluster", "0"),
    (1, 1, "cluster", "1"),
    (2, 0, "cluster", "1"),
    (2, -1, "K", "2"),
    (2, 2, "membership", "[0.2, 0.8]"),
]
FACTS: dict[str, Any] = {
    "method": "comet",
    "hyper": {"lam": 0.5},
    "seed": 7,
    "clients": 3,
    "rounds": 2,
    "participation": 1.0,
    "data": "digits",
    "split": "dirichlet",
    "model": "dnn",
    "class_names": ["zero", "one"],
    "data_digest": "d7",
    "spec": {
        "data": {"name": "digits"},
        "split": {"name": "dirichlet", "alpha": 0.3, "over": "clients", "floor": 10},
        "run": {"seed": 7},
    },
    "versions": {"fedkin": "0.1.0"},
}
# facts, and whether a page proposes [method] safe: a hyper-parameter of this name is a method's own
OF_SAFE: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"hyper": {"safe": True}}, True),
    ({"spec": {**FACTS["spec"], "method": {"safe": True}}}, False),
]


def write(
    folder: Path,
    *,
    finished: bool = True,
    accuracy: bool = True,
    until: int = 3,
    fingerprint: str = "f00d",
    **facts: Any,
) -> Path:
    """The small run: 3 clients, 2 rounds, a finish (row 3). ``until``: the last row that is
    committed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = create(folder / "run.db", {**FACTS, "finished": False, **facts})
    with database.commit() as transaction:
        put_rows(transaction, "clients", CLIENTS)
        for at in range(until + 1):
            put_rows(transaction, "rounds", [(at, phase(at), "[0, 1, 2]", json.dumps(SECONDS[at]))])
            put_rows(
                transaction, "messages", [(at, phase(at), *message) for message in messages(at)]
            )
            put_rows(transaction, "metrics", metrics(at, accuracy) if at else [])
        put_rows(transaction, "notes", [note for note in NOTES if note[0] <= until])
        if until >= 2:
            put_rows(transaction, "events", [(2, 1, "missing", "timed out")])
        if finished:
            put_facts(transaction, {"finished": True, "fingerprint": fingerprint})
    database.close()
    return folder


def phase(at: int) -> str:
    return {0: "setup", 3: "finish"}.get(at, "round")


def messages(at: int) -> list[tuple[Any, ...]]:
    """client, direction, copy, bytes, then scalars of parameters, predictions, centroids,
    coefficients, control.
    """
    if at == 0:  # everyone introduces itself
        return [(client, "up", 0, 20, 0, 0, 0, 2, 0) for client in range(3)]
    if at == 3:  # one broadcast, before the clients' last work
        return [(client, "down", int(client > 0), 440, 100, 0, 0, 0, 0) for client in range(3)]
    down = [
        (0, "down", 0, 450, 100, 0, 0, 0, 1),
        (1, "down", 1, 450, 100, 0, 0, 0, 1),
        (2, "down", 0, 440, 100, 0, 0, 0, 0),
    ]
    return down + [(client, "up", 0, 60, 0, 10, 0, 0, 1) for client in range(3)]


def metrics(at: int, accuracy: bool) -> list[tuple[Any, ...]]:
    """Personal and global views, val and test; the global view is 0.1 worse on test everywhere."""
    rows: list[tuple[Any, ...]] = []
    for view, worse in (("personal", 0.0), ("global", 0.1)):
        for split, values in (("test", TEST), ("val", VAL)):
            for client in range(3):
                value = round(values[at][client] - (worse if split == "test" else 0.0), 6)
                rows.append((at, client, view, split, LOSS[client], value if accuracy else None))
    return rows


def membership(client: int, share: float) -> str:
    """On the way from the middle of the simplex to one of its four corners."""
    whole = [0.25 * (1 - share)] * 4
    whole[client % 4] += share
    return json.dumps(whole)


def write_large(folder: Path, clients: int, rounds: int, classes: int = 10) -> Path:
    """A run with every kind of record, for size and time."""
    folder.mkdir(parents=True, exist_ok=True)
    database = create(
        folder / "run.db", {**FACTS, "clients": clients, "rounds": rounds, "finished": True}
    )
    histograms = [
        json.dumps([7 * (c % 4 == k % 4) + 1 for c in range(classes)]) for k in range(clients)
    ]
    spent = json.dumps(SECONDS[1])
    everyone = range(clients)
    with database.commit() as transaction:
        put_rows(
            transaction,
            "clients",
            [(k, f"client {k}", "dnn", 40, 10, 10, histograms[k]) for k in everyone],
        )
        for at in range(1, rounds + 1):
            put_rows(transaction, "rounds", [(at, "round", "[]", spent)])
            sent = [
                (at, "round", k, way, int(k > 0), 400, 100, 0, 0, 0, 0)
                for k in everyone
                for way in ("up", "down")
            ]
            put_rows(transaction, "messages", sent)
            scores = [
                (at, k, view, split, 1.0, (k * 31 + at) % 1009 / 1009)
                for k in everyone
                for view in ("personal", "global")
                for split in ("test", "val")
            ]
            put_rows(transaction, "metrics", scores)
            put_rows(
                transaction, "notes", [(at, k, "cluster", str((k + at // 9) % 4)) for k in everyone]
            )
            put_rows(
                transaction,
                "notes",
                [(at, k, "membership", membership(k, at / rounds)) for k in everyone],
            )
    database.close()
    return folder
