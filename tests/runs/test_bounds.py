"""Numbers and texts of a record: what is kept, and what makes a record damaged."""

import json
import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.bounds import (
    COLUMNS,
    accuracy,
    are_counts,
    are_numbers,
    check_facts,
    check_rows,
    finite,
    is_number,
    loss,
    note,
    sentence,
)
from tests.awkward import record


def test_what_is_written_is_finite_and_no_share_is_above_1() -> None:
    assert [loss(x) for x in (3.5, math.nan, math.inf, -1e40)] == [3.5, None, None, None]
    assert [accuracy(x) for x in (0.3, -0.1, 1.1, math.nan)] == [0.3, None, None, None]
    assert accuracy(1 + 1e-9) == 1 + 1e-9
    assert len(sentence("x" * 9000)) == 2001


def test_what_a_method_tells_is_json_whatever_its_numbers_are() -> None:
    told = {"weights": (0.5, math.nan), 3: math.inf, "at": np.float32(-math.inf), "n": np.int64(2)}
    known = {"weights": [0.5, None], "3": None, "at": None, "n": 2}
    assert finite(told) == known
    assert note(told) == json.dumps(known)


def rows_of(path: Path):
    connection = sqlite3.connect(path)
    return connection, lambda query: connection.execute(query).fetchall()


def test_every_table_of_a_record_is_bounded_and_a_run_fits(tmp_path: Path) -> None:
    connection, rows = rows_of(record(tmp_path / "run") / "run.db")
    check_rows(rows, "run.db")
    tables = {name for (name,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables <= set(COLUMNS)
    for table, conditions in COLUMNS.items():
        if table in tables:
            assert len(rows(f"PRAGMA table_info({table})")) == len(conditions), table
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE metrics SET loss = 'much' WHERE round = 2",
        "UPDATE metrics SET accuracy = 1.1 WHERE client = 3",
        "UPDATE messages SET bytes = -1 WHERE round = 1",
        "UPDATE messages SET direction = 'sideways' WHERE round = 1",
        "UPDATE rounds SET round = 2000000000 WHERE round = 3",
        "UPDATE notes SET value = '\"' || hex(zeroblob(600000)) || '\"'",
        "INSERT INTO events VALUES (1, 0, 'missing', hex(zeroblob(600000)))",
    ],
)
def test_a_row_that_no_run_writes_is_damage(tmp_path: Path, change: str) -> None:
    connection, rows = rows_of(record(tmp_path / "run") / "run.db")
    connection.execute(change)
    with pytest.raises(FedkinError, match=r"run\.db is damaged: \w+ holds a row"):
        check_rows(rows, "run.db")
    connection.close()


@pytest.mark.parametrize("value", ["'0.5'", "'a'", "x'30'", "1e40", "-1e300"])
@pytest.mark.parametrize("kind", ["REAL", "TEXT", "BLOB", "INTEGER", ""])
def test_a_number_is_one_whatever_its_column_says_of_itself(kind: str, value: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        f"CREATE TABLE metrics (round INTEGER, client INTEGER, view TEXT, split TEXT, loss {kind},"
        " accuracy REAL)"
    )
    connection.execute("INSERT INTO metrics VALUES (1, 0, 'global', 'val', 3, NULL)")
    if kind != "TEXT":  # which makes a text of 3
        check_rows(lambda query: connection.execute(query).fetchall(), "run.db")
    connection.execute(f"INSERT INTO metrics VALUES (2, 0, 'global', 'val', {value}, NULL)")
    if (kind, value) in (("REAL", "'0.5'"), ("INTEGER", "'0.5'")):  # a number by its column
        check_rows(lambda query: connection.execute(query).fetchall(), "run.db")
        return
    with pytest.raises(FedkinError, match="metrics holds a row"):
        check_rows(lambda query: connection.execute(query).fetchall(), "run.db")
    connection.close()


@pytest.mark.parametrize(
    "facts",
    [
        {"seed": -1},
        {"clients": "9"},
        {"hyper": []},
        {"rounds": 10**9},
        {"finished": "no"},
        {"spec": None},
        {"newcomers": None},
        {"clients": None},
    ],
)
def test_facts_of_another_kind_are_damage(facts: dict[str, object]) -> None:
    with pytest.raises(FedkinError, match=f"damaged: {next(iter(facts))} is"):
        check_facts(facts, "run.db")
    check_facts({"seed": 3, "participation": 1, "finished": None}, "run.db")


NEWCOMER = {
    "client": "c7",
    "asked": None,
    "train": 8,
    "val": 2,
    "test": 10,
    "rounds": 3,
    "scores": {"personal": {"test": {"accuracy": 0.5, "loss": None}}},
}


@pytest.mark.parametrize("newcomer", [1, {}, {"client": 3}])
def test_a_newcomer_without_a_name_is_damage(newcomer: object) -> None:
    with pytest.raises(FedkinError, match="damaged: newcomers has"):
        check_facts({"newcomers": [NEWCOMER, newcomer]}, "run.db")
    check_facts({"newcomers": [NEWCOMER, {**NEWCOMER, "asked": 5}]}, "run.db")


@pytest.mark.parametrize(
    "other",
    [
        *({"asked": 0.5}, {"train": None}, {"test": -1}, {"rounds": "3"}, {"measures": None}),
        *({"scores": None}, {"scores": {}}, {"scores": {"personal": {"val": {}}}}),
        *({"scores": {"personal": []}}, {"scores": {"personal": {"test": [0.5]}}}),
        {"scores": {"personal": {"test": {"accuracy": "half"}}}},
    ],
)
def test_a_newcomer_without_its_samples_or_scores_is_damage(other: dict[str, object]) -> None:
    with pytest.raises(FedkinError, match="damaged: newcomers has"):
        check_facts({"newcomers": [{**NEWCOMER, **other}]}, "run.db")


@pytest.mark.parametrize("lost", sorted(NEWCOMER))
def test_a_newcomer_has_everything_that_is_read_of_it(lost: str) -> None:
    few = {name: value for name, value in NEWCOMER.items() if name != lost}
    with pytest.raises(FedkinError, match="damaged: newcomers has"):
        check_facts({"newcomers": [few]}, "run.db")


@pytest.mark.parametrize(
    ("facts", "right"),
    [
        ({"spec": {"run": 5}}, {"spec": {"run": {}, "privacy": None}}),
        ({"spec": {"transforms": [5]}}, {"spec": {"transforms": [{"name": "median"}]}}),
        ({"values": {"models": [1]}}, {"values": {"models": {}}}),
        ({"label_counts": [3, "4"]}, {"label_counts": [3, 4]}),
        ({"label_counts": [3, -4]}, {"label_counts": []}),
        ({"baselines": [1]}, {"baselines": {}}),
        ({"baselines": {"linear": None}}, {"baselines": {"linear": {}}}),
        ({"baselines": {"linear": {"a": 0.5}}}, {"baselines": {"linear": {"-1": 0.5}}}),
        ({"baselines": {"linear": {"0": None}}}, {"baselines": {"linear": {"0": 0.5}}}),
        ({"baselines_of": {"linear": "all"}}, {"baselines_of": {"linear": 7}}),
    ],
)
def test_what_is_within_a_fact_is_of_its_kind_too(
    facts: dict[str, object], right: dict[str, object]
) -> None:
    check_facts(right, "run.db")
    with pytest.raises(FedkinError, match=f"damaged: {next(iter(facts))} is"):
        check_facts(facts, "run.db")


def test_counts_and_numbers_of_json() -> None:
    assert [are_counts(value) for value in ([], [3, 0], [-1], [0.5], 7, None)] == [
        *(True, True, False, False, False, False)
    ]
    assert [are_numbers(value) for value in ({}, {"a": -0.5}, {"a": math.nan}, [0.5])] == [
        *(True, True, False, False)
    ]
    assert [is_number(value) for value in (7, 1e39, 1e40, 10**400, "7", None)] == [
        *(True, True, False, False, False, False)
    ]
