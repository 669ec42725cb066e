"""Errors of data that were given as a value name what was given."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin import Experiment
from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.given import given_data
from fedkin.setup.arguments.given_errors import reworded

FRAME = pd.DataFrame(
    {"site": ["a"] * 30 + ["b"] * 30, "dose": [*range(3)] * 20, "sick": [0.0, 1.0] * 30}
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # where runs/ is made


KEYS = {"client": "site", "label": "sick"}


def told(data, **keys):
    with pytest.raises(FedkinError) as error:
        Experiment("fedavg", data=data, **keys).run()
    assert "given" not in str(error.value), "no file is named"
    return str(error.value)


def test_a_row_of_the_frame_and_a_keyword() -> None:
    sick = FRAME["sick"].copy()
    sick[22] = np.nan
    assert told(FRAME.assign(sick=sick), **KEYS) == (
        "the DataFrame, row 22: column 'sick' is empty: fill it, or leave rows without a label out "
        "with **{'data.unlabeled': 'drop'}"
    )


def test_a_client_that_is_the_index() -> None:
    assert told(FRAME.set_index("site"), **KEYS) == (
        "data: 'site' is in the index of the DataFrame, and no column of it: give df.reset_index()"
    )


def test_a_column_that_looks_like_the_clients() -> None:
    said = told(FRAME, label="sick")
    assert said.startswith("the DataFrame: column 'site' (2 values) looks like its clients: take ")
    assert "client='site', or say split='iid'" in said


def test_arrays() -> None:
    arrays = {"x": np.full((4, 2), np.nan), "y": [0, 1, 0, 1]}
    assert told(arrays, clients=2).startswith("the arrays: row 0 of x holds NaN")


@pytest.mark.parametrize(
    ("said", "reads"),
    [
        ("a: --set 'data.drop=[\"t\"]'", "a: drop=['t']"),
        ("a: --set 'data.missing={t = [\"x\"]}', or b", "a: missing={'t': ['x']}, or b"),
        ("""a: --set 'data.drop=["it'"'"'s"]', or b""", 'a: drop=["it\'s"], or b'),
        ("a: set data.task=classification for c", "a: set task='classification' for c"),
        ("(--set split.val=0), or", "(**{'split.val': 0}), or"),
        ("given: column 'a': --split iid (or x)", "the DataFrame: column 'a': split='iid' (or x)"),
        (
            "f/given.csv has no label column 'y': name it",
            "the DataFrame has no label column 'y': name it",
        ),
    ],
)
def test_the_words_of_a_sentence(said, reads) -> None:
    assert reworded(said, given_data(FRAME), Path("f/given.csv")) == reads
