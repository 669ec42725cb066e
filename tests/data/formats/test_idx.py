"""IDX files: every pixel and label; damage is one sentence."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fedkin.data.sources import load
from tests.data.sources_examples import fails, mnist_arrays

STEMS = {
    "x_train": "train-images",
    "y_train": "train-labels",
    "x_test": "t10k-images",
    "y_test": "t10k-labels",
}


def idx_bytes(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def write_idx(folder: Path, arrays: dict[str, np.ndarray], *, gz: bool, dash: str = "-") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in arrays.items():
        name = f"{STEMS[key]}{dash}idx{array.ndim}-ubyte"
        raw = idx_bytes(array)
        (folder / (name + ".gz" if gz else name)).write_bytes(gzip.compress(raw) if gz else raw)


@pytest.mark.parametrize("gz", [True, False])
@pytest.mark.parametrize("sub", ["mnist", "."])
@pytest.mark.parametrize("dash", ["-", "."])
def test_idx_files_give_every_pixel_and_label(
    tmp_path: Path, gz: bool, sub: str, dash: str
) -> None:
    arrays = mnist_arrays()
    write_idx(tmp_path / sub, arrays, gz=gz, dash=dash)
    source = load("mnist", tmp_path)
    assert source.x.shape == (10, 1, 28, 28)
    assert source.x.dtype == np.uint8
    assert source.y.dtype == np.int64
    np.testing.assert_array_equal(source.x[:7, 0], arrays["x_train"])
    np.testing.assert_array_equal(source.x[7:, 0], arrays["x_test"])
    np.testing.assert_array_equal(source.y, np.concatenate([arrays["y_train"], arrays["y_test"]]))
    assert source.official_test is not None
    np.testing.assert_array_equal(source.official_test, [False] * 7 + [True] * 3)
    assert source.classes == 10


def test_fashion_mnist_has_its_own_names_and_folder(tmp_path: Path) -> None:
    write_idx(tmp_path / "fashion_mnist", mnist_arrays(), gz=True)
    assert load("fashion_mnist", tmp_path).class_names[9] == "Ankle boot"
    fails("mnist", tmp_path, "mnist", "--data-dir", "FEDKIN_DATA")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda raw: b"\x00\x00\x0d" + raw[3:], ("magic", "train-images")),
        (lambda raw: raw[:-5], ("damaged", "bytes follow")),
        (lambda raw: raw + b"\0", ("damaged",)),
        (lambda raw: raw[:6], ("damaged",)),
        (lambda raw: b"", ("magic",)),
        (lambda raw: b"<html>not found</html>", ("magic",)),
    ],
)
def test_damaged_idx_is_one_sentence(tmp_path: Path, spoil, words) -> None:  # type: ignore[no-untyped-def]
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=False)
    path = tmp_path / "mnist" / "train-images-idx3-ubyte"
    path.write_bytes(spoil(path.read_bytes()))
    fails("mnist", tmp_path, *words)


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[: len(raw) // 2], lambda raw: b"no gzip", lambda raw: raw[:-1]]
)
def test_truncated_gzip_is_one_sentence(tmp_path: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=True)
    path = tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    fails("mnist", tmp_path, "t10k-labels", "damaged or cut short")


def test_corrupt_gzip_body_is_one_sentence(tmp_path: Path) -> None:
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=True)
    path = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    raw = bytearray(path.read_bytes())
    raw[200:260] = bytes(60)
    path.write_bytes(bytes(raw))
    fails("mnist", tmp_path, "damaged")


def test_idx_missing_one_file_names_it(tmp_path: Path) -> None:
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=True)
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    fails("mnist", tmp_path, "t10k-labels-idx1-ubyte.gz")


def test_idx_with_more_images_than_labels(tmp_path: Path) -> None:
    arrays = mnist_arrays()
    write_idx(tmp_path / "mnist", arrays | {"y_train": arrays["y_train"][:-1]}, gz=True)
    fails("mnist", tmp_path, "as many images as labels")


def test_idx_label_out_of_range(tmp_path: Path) -> None:
    arrays = mnist_arrays()
    arrays["y_train"][2] = 17
    write_idx(tmp_path / "mnist", arrays, gz=True)
    fails("mnist", tmp_path, "label 17", "10 classes")
