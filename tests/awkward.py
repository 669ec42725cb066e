"""Federations in which no two orders agree, so that a wrong pairing shows.

Sizes are shuffled or descending, never ascending; of names and of classes, the order as text is not
that as numbers; validation, test and training samples are in no common proportion; a class is
missing at a client; clients miss rounds; equal texts are repeated; every number of a record is
another one, so that it tells which cell it came from.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from fedkin.data.population import SPLITS, Population
from fedkin.runs.database import MEASURES, create, put_facts, put_rows
from tests.report.records_for_tests import FACTS


class Member(NamedTuple):
    """A client and its numbers of samples."""

    name: str
    architecture: str
    train: int
    val: int
    test: int


SHUFFLED = (
    Member("s10", "dnn", 31, 3, 17),
    Member("s9", "cnn", 90, 25, 8),
    Member("s2", "mlr", 12, 9, 40),
    Member("s11", "cnn", 55, 6, 26),
    Member("s1", "dnn", 22, 14, 11),
    Member("s0", "mlr", 47, 5, 33),
)
DESCENDING = tuple(sorted(SHUFFLED, key=lambda one: -one.train))
ORDERS = {"shuffled": SHUFFLED, "descending": DESCENDING}
SEED = 3698  # of a record's numbers: other weights would choose other rounds
CLASSES = 11  # as text: 0, 1, 10, 2
CLASS_NAMES = tuple(str(c) for c in range(CLASSES))
ABSENT = {2: 7, 4: 0}  # client: the class that it has not
TEMPERATURE = 3.0  # of what has one
ROUNDS = (1, 2, 3, 4)  # 4 is the finish
TAKING_PART = {1: [0, 2, 3, 5], 2: [1, 2, 4], 3: [0, 1, 4, 5]}
LOST = {(1, 3): "cut off", (3, 0): "timed out"}  # (round, client): why its reply is missing
UNMEASURED = {(4, 1, "test"), (2, 5, "val")}  # (round, client, split) without an accuracy
VIEWS = ("personal", "global")
WORDS = ("once more", "no", "once more", "yes", "no", "once more", "perhaps")  # repeated texts


def labels(n: int, client: int) -> np.ndarray:
    """n classes of a client, one of all missing; every client has a favourite."""
    allowed = [c for c in range(CLASSES) if c != ABSENT.get(client)]
    rng = np.random.default_rng([31, client])
    chances = rng.dirichlet(np.full(len(allowed), 0.7))
    return np.array(allowed)[rng.choice(len(allowed), n, p=chances)]


def population(order: str = "shuffled") -> Population:
    """The clients' samples; their rows stand in the table in no order of clients."""
    members = ORDERS[order]
    sizes = [one.train + one.val + one.test for one in members]
    places = np.random.default_rng(5).permutation(sum(sizes))
    parts: dict[str, list[np.ndarray]] = {split: [] for split in SPLITS}
    y = np.zeros(sum(sizes), dtype=np.int64)
    for k, (own, one) in enumerate(zip(np.split(places, np.cumsum(sizes)[:-1]), members)):
        y[own] = labels(len(own), k)
        for split, rows in zip(SPLITS, np.split(own, [one.train, one.train + one.val])):
            parts[split].append(np.sort(rows).astype(np.int64))
    x = np.random.default_rng(6).normal(size=(len(y), 5)) + y[:, None]
    return Population(
        name="awkward",
        x=torch.from_numpy(x).float(),
        y=torch.from_numpy(y),
        classes=CLASSES,
        task="classification",
        names=tuple(one.name for one in members),
        class_names=CLASS_NAMES,
        **{split: tuple(rows) for split, rows in parts.items()},  # type: ignore[arg-type]
    )


def table(path: Path, order: str = "shuffled") -> Path:
    """The same as a CSV: columns site, words (repeated texts), u, v, label."""
    people = population(order)
    lines = ["site,words,u,v,label"]
    for k, name in enumerate(people.names):
        for row in np.concatenate([people.train[k], people.val[k], people.test[k]]):
            u, v, *_ = people.x[int(row)].tolist()
            lines.append(f"{name},{WORDS[row % len(WORDS)]},{u:.4f},{v:.4f},{int(people.y[row])}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def number(*place: Any) -> float:
    """A number of four digits that stands nowhere else."""
    known = [VIEWS.index(p) if p in VIEWS else SPLITS.index(p) if p in SPLITS else p for p in place]
    return float(np.random.default_rng([SEED, *known]).integers(1000, 9999)) / 10_000


def accuracy(at: int, client: int, view: str, split: str) -> float | None:
    return None if (at, client, split) in UNMEASURED else number(at, client, view, split)


def loss(at: int, client: int, view: str, split: str) -> float:
    return 2 + 3 * number(at, client, view, split, 1)


def auc(at: int, client: int, view: str, split: str) -> float | None:
    """Client 2 has one class only: there is none."""
    return None if client == 2 else number(at, client, view, split, 2)


def record(folder: Path, order: str = "shuffled", fingerprint: str = "f00d", **facts: Any) -> Path:
    """A finished run of three rounds and a finish, row by row; nothing was trained."""
    members = ORDERS[order]
    clients = range(len(members))
    people = population(order)
    counts = people.histogram("train").tolist()
    folder.mkdir(parents=True)
    told = {
        **FACTS,
        "clients": len(members),
        "rounds": 3,
        "class_names": list(CLASS_NAMES),
        "participation": 0.6,
        "finished": False,
    }
    database = create(folder / "run.db", {**told, **facts})
    with database.commit() as into:
        put_rows(
            into, "clients", [(k, *one, json.dumps(counts[k])) for k, one in enumerate(members)]
        )
        for at in (0, *ROUNDS):
            phase = {0: "setup", 4: "finish"}.get(at, "round")
            who = TAKING_PART.get(at, list(clients))
            seconds = {"local": 10.0 * at + 1, "server": 0.5 + at, "evaluation": 0.25 * at}
            spent = {**seconds, "total": sum(seconds.values()) + 7**at / 100}
            put_rows(into, "rounds", [(at, phase, json.dumps(who), json.dumps(spent))])
            put_rows(into, "messages", [(at, phase, *one) for one in messages(at, who)])
        put_rows(
            into,
            "metrics",
            [
                (at, k, view, split, loss(at, k, view, split), accuracy(at, k, view, split))
                for at in ROUNDS
                for k in reversed(clients)
                for view in VIEWS
                for split in ("test", "val")
            ],
        )
        put_rows(into, "events", [(*place, "missing", why) for place, why in LOST.items()])
        put_rows(into, "notes", notes())
        put_facts(into, {"finished": True, "fingerprint": fingerprint})
    database.close()
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(MEASURES)
        connection.executemany(
            "INSERT INTO measures VALUES (?, ?, ?, ?, 'auc', ?)",
            [
                (at, k, view, split, auc(at, k, view, split))
                for at in ROUNDS
                for k in clients
                for view in VIEWS
                for split in ("test", "val")
            ],
        )
    return folder


def messages(at: int, who: list[int]) -> list[tuple[Any, ...]]:
    """client, direction, copy, bytes, then scalars by kind; every size is another one."""
    if at == 0:
        return [(k, "up", 0, 31 + k, 0, 3, 0, 2 + k, 0) for k in who]
    down = [
        (k, "down", int(n > 1), 700 + 10 * at + k, 100 + at, 0, 7, 0, 1) for n, k in enumerate(who)
    ]
    lost = {k for number, k in LOST if number == at}
    up = [(k, "up", 0, 300 + 5 * at + 2 * k, 40 + k, 11, 0, k, 2) for k in who if k not in lost]
    return down if at == 4 else down + up


def notes() -> list[tuple[int, int, str, str]]:
    """round, client, name, value: who took part told its cluster and two numbers."""
    found = [(at, -1, "K", str(at + 1)) for at in TAKING_PART]
    for at, who in TAKING_PART.items():
        for k in who:
            if (at, k) not in LOST:
                share = number(at, k, 9)
                found.append((at, k, "cluster", str((3 * k + at) % 3)))
                found.append((at, k, "membership", json.dumps([share, round(1 - share, 4)])))
                found.append((at, k, "pull", str(number(at, k, 8))))
    return found
