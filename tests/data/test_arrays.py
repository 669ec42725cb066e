"""What an array must be before a model may see it."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import class_labels, features, images, targets, text


def test_pixels_stay_and_other_numbers_become_float32() -> None:
    pixels = np.arange(6, dtype=np.uint8).reshape(3, 2)[:, ::-1]  # no contiguous memory
    found = features(pixels, "a.npz")
    assert found.dtype == np.uint8
    assert found.flags["C_CONTIGUOUS"]
    np.testing.assert_array_equal(found, [[1, 0], [3, 2], [5, 4]])
    whole = features(np.array([[1, -2], [300, 4]], np.int64), "a.npz")
    assert whole.dtype == np.float32
    assert whole.tolist() == [[1, -2], [300, 4]]
    assert features(np.array([[True], [False]]), "a.npz").tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.array([["a"]]), r"a.npz: x holds texts: give numbers, or pixels \(uint8\); a table"),
        (np.array([[1j]]), "x holds complex numbers"),
        (np.arange(4), r"x has shape \(4,\): give one row a sample"),
        (np.zeros((0, 3)), "^a.npz has no rows$"),
        (np.zeros((3, 0)), r"x has shape \(3, 0\): it holds no features"),
        (np.array([[0.0, 1], [2, 3], [4, np.nan]]), "row 2 of x holds NaN, infinity or a number"),
        (np.array([[0.0], [1e300]]), "row 1 of x holds .* too large for float32"),
    ],
)
def test_samples_that_no_model_can_take(x: np.ndarray, said: str) -> None:
    with pytest.raises(FedkinError, match=said):
        features(x, "a.npz")


def test_targets_are_finite_float32() -> None:
    found = targets(np.array([1, -7], np.int64), "a.csv")
    assert found.dtype == np.float32
    assert found.tolist() == [1, -7]
    with pytest.raises(FedkinError, match=r"^a\.csv: row 1 of y is NaN, infinite or too large"):
        targets(np.array([1.0, 4e38]), "a.csv")


def test_targets_that_float32_cannot_tell_apart() -> None:
    seconds = 1.7e9 + np.arange(60)
    with pytest.raises(FedkinError, match="60 different values, of which float32 keeps 1: subtr"):
        targets(seconds, "a.csv")
    assert targets(seconds - 1.7e9, "a.csv").tolist() == [*range(60)]
    assert len(targets(np.random.default_rng(0).normal(size=10_000), "a.csv")) == 10_000
    assert targets(np.full(9, 1.7e9 + 1), "a.csv")[0] == 1.7e9  # one value is no fewer


def test_labels_are_counted_from_0() -> None:
    labels, classes = class_labels(np.array([3, 0, 3], np.uint8), None, "a.npz")
    assert labels.dtype == np.int64
    assert (labels.tolist(), classes) == ([3, 0, 3], 4)
    assert class_labels(np.array([1, 0]), 7, "a.npz")[1] == 7  # classes that nobody has
    assert class_labels(np.array([True, False]), None, "a.npz")[0].tolist() == [1, 0]
    assert class_labels(np.array([999]), None, "a.npz")[1] == 1000


@pytest.mark.parametrize(
    ("y", "classes", "said"),
    [
        (np.array([0.5]), None, "y holds numbers with a fraction: give whole numbers"),
        (np.array([2, -1]), None, "y holds the label -1: number the classes from 0"),
        (np.array([0, 5]), 5, "y holds the label 5, but there are 5 classes: use 0 to 4"),
        (np.array([1000, 0]), None, "y reaches 1000 with only 2 rows"),
    ],
)
def test_labels_that_are_none(y: np.ndarray, classes: int | None, said: str) -> None:
    with pytest.raises(FedkinError, match=said):
        class_labels(y, classes, "a.npz")


@pytest.mark.parametrize(
    ("shape", "turned"),
    [
        ((2, 5, 4), (2, 1, 5, 4)),
        ((2, 5, 4, 3), (2, 3, 5, 4)),
        ((2, 5, 4, 1), (2, 1, 5, 4)),
        ((2, 3, 5, 4), (2, 3, 5, 4)),  # channels stand first already
        ((2, 3, 5, 3), (2, 3, 5, 3)),  # either could be the channels: as it is
        ((2, 5, 4, 2), (2, 5, 4, 2)),
    ],
)
def test_channels_of_pictures_stand_first(shape: tuple[int, ...], turned: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    found = images(x)
    assert found.shape == turned
    if shape == (2, 5, 4, 3):
        np.testing.assert_array_equal(found[1, 2], x[1, :, :, 2])
    numbers = x.astype(np.float32)
    assert images(numbers) is numbers  # no picture: its axes are its owner's


def test_names_of_clients_are_text_or_int64() -> None:
    assert text(np.array([b"a", "ü".encode()]), "c").tolist() == ["a", "ü"]
    assert text(np.array([3, 1], np.uint16), "c").dtype == np.int64
    assert text(np.array([1.5, 2]), "c").tolist() == ["1.5", "2.0"]
    assert text(np.array(["b", None], dtype=object), "c").dtype.kind == "U"  # without pickle
    assert text(np.array([], np.uint64), "c").dtype == np.int64


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array("cat"), r"^a\.npz: client has shape \(\): give a list of names"),
        (np.array([b"a", b"\xff"]), "client holds bytes that are not UTF-8"),
        (np.array([1.0, np.nan]), "client holds nan at 1: give a name"),
        (np.array(["2020", "NaT"], "M8[D]"), "client holds NaT at 1"),
        (np.array([1, 2**63], np.uint64), "client holds 9223372036854775808, which is beyond int"),
    ],
)
def test_what_names_no_client(values: np.ndarray, said: str) -> None:
    with pytest.raises(FedkinError, match=said):
        text(values, "a.npz: client")
