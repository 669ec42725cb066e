"""The data sets that have names: what each promises, and the file that each is read from."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data import named_sets
from fedkin.data.named_sets import SOURCES, digits, file_of
from tests.data.sources_examples import mnist_arrays


def test_digits_are_scaled_to_all_of_a_byte() -> None:
    from sklearn.datasets import load_digits

    source = digits()
    raw, labels = load_digits(return_X_y=True)
    assert source.x.shape == (1797, 1, 8, 8)
    assert source.x.dtype == np.uint8
    assert (source.x.min(), source.x.max()) == (0, 255)
    np.testing.assert_array_equal(source.x[700, 0].ravel(), np.rint(raw[700] * 255 / 16))
    np.testing.assert_array_equal(source.y, labels)
    assert source.official_test is None
    assert source.class_names[7] == "7"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("femnist_extra", "femnist.npz"),  # the same file holds both
        ("cifar100_12k", "cifar100_12k.npz"),
        ("mnist", "mnist.npz"),
        ("shakespeare", "shakespeare.json"),
    ],
)
def test_the_file_of_a_set(name: str, file: str) -> None:
    assert file_of(name) == file
    assert name in SOURCES


def test_an_archive_goes_before_the_original_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "fashion_mnist.npz", **mnist_arrays(train=9, test=4))
    (tmp_path / "fashion_mnist").mkdir()
    (tmp_path / "fashion_mnist" / "train-images-idx3-ubyte").write_bytes(b"damaged")
    source = SOURCES["fashion_mnist"](tmp_path)
    assert source.x.shape == (13, 1, 28, 28)
    assert source.class_names[9] == named_sets.FASHION[9] != "9"
    assert source.official_test is not None
    assert source.official_test.tolist() == [False] * 9 + [True] * 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mnist", ["mnist.npz", "the four IDX files"]),
        ("cifar10", ["cifar10.npz", ".bin files"]),
        ("femnist_extra", ["data set 'femnist'", "femnist.npz"]),
        ("har", ["har.npz"]),
    ],
)
def test_what_is_missing_is_named(name: str, words: list[str], tmp_path: Path) -> None:
    for folder, where in ((tmp_path, f"in {tmp_path}"), (None, "no data folder is named")):
        with pytest.raises(FedkinError) as told:
            SOURCES[name](folder)
        for word in (*words, where):
            assert word in str(told.value)


def test_har_is_turned_and_its_bouts_stay_whole(tmp_path: Path) -> None:
    n = 5
    x = np.arange(n * 128 * 9, dtype=np.float32).reshape(n, 128, 9)
    bouts = np.array([0, 0, 1, 1, 2])
    subjects = np.array([4, 4, 4, 9, 9])
    np.savez(tmp_path / "har.npz", x=x, y=np.array([0, 5, 2, 2, 1]), client=subjects, bout=bouts)
    source = SOURCES["har"](tmp_path)
    assert source.x.shape == (n, 9, 128)
    assert source.x.flags["C_CONTIGUOUS"]
    np.testing.assert_array_equal(source.x[3, 2], x[3, :, 2])
    assert source.group == "bout"
    np.savez(tmp_path / "har.npz", x=x[:, :64], y=np.zeros(n, int), client=subjects, bout=bouts)
    with pytest.raises(FedkinError, match=r"x has shape \(5, 64, 9\): it needs \[n, 128, 9\]"):
        SOURCES["har"](tmp_path)


def test_letters_are_in_the_order_of_the_labels() -> None:
    assert len(named_sets.LETTERS) == 62
    assert (named_sets.LETTERS[9], named_sets.LETTERS[10], named_sets.LETTERS[36]) == (
        "9",
        "A",
        "a",
    )
