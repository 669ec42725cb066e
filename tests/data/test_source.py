"""What every reader returns, checked once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.source import absent, classified, labelled

X = np.arange(12.0).reshape(4, 3)


def test_integers_are_classes_and_floats_are_targets() -> None:
    source = classified("a", X, np.array([2, 0, 0, 1]), where="a.csv")
    assert (source.task, source.classes, source.y.dtype) == ("classification", 3, np.int64)
    assert source.x.dtype == np.float32
    source = classified("a", X, np.array([2, 0, 0, 1.5]), where="a.csv", classes=9)
    assert (source.task, source.classes, source.y.tolist()) == ("regression", 0, [2, 0, 0, 1.5])


@pytest.mark.parametrize(
    ("known", "classes"),
    [({}, 3), ({"class_names": tuple("abcde")}, 5), ({"classes": 4, "class_names": ("a",)}, 4)],
)
def test_who_says_how_many_classes_there_are(known: dict[str, Any], classes: int) -> None:
    source = labelled("a", X, np.array([2, 0, 0, 1]), where="a.csv", **known)
    assert source.classes == classes
    assert source.class_names == known.get("class_names", ())


def test_what_is_known_of_samples_stays() -> None:
    client, bout = np.array(["b", "a", "b", "b"]), np.array([7, 7, 8, 9])
    test = np.array([True, False, False, False])
    for y in (np.array([2, 0, 0, 1]), np.array([0.5, 0, 0, 1])):
        known: dict[str, Any] = {"client": client, "official_test": test, "truth": {"bout": bout}}
        source = classified("a", X, y, where="a.csv", **known)
        assert source.client is client
        assert source.official_test is test
        assert source.truth == {"bout": bout}


@pytest.mark.parametrize(
    ("y", "known", "said"),
    [
        (np.zeros(3, int), {}, r"a\.csv: x has 4 rows but y has shape \(3,\): give one label"),
        (np.zeros((4, 1), int), {}, r"y has shape \(4, 1\)"),
        (np.zeros(4, int), {"client": np.zeros(5)}, "client has 5 entries for 4 rows"),
        (np.zeros(4, int), {"truth": {"bout": np.zeros(3)}}, "bout has 3 entries for 4 rows"),
        (np.full(4, 2), {"class_names": ("x", "y")}, "label 2, but there are 2 classes"),
        (np.array(["u"] * 4), {}, "y holds texts: give whole numbers from 0 for classes"),
    ],
)
def test_what_does_not_fit_the_samples(y: np.ndarray, known: dict[str, Any], said: str) -> None:
    with pytest.raises(FedkinError, match=said):
        classified("a", X, y, where="a.csv", **known)


def test_a_missing_file_says_what_to_put_where() -> None:
    told = str(absent("har", "har.npz", Path("/sets"), "a folder"))
    assert told == (
        "data set 'har' was not found in /sets: put har.npz into the data folder, or a folder, "
        "and name that folder with --data-dir or FEDKIN_DATA"
    )
    assert "because no data folder is named: put har.npz into the data folder, and" in str(
        absent("har", "har.npz", None)
    )
