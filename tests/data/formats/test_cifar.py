"""CIFAR's binary files."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.data.sources import load
from tests.data.sources_examples import RNG, fails


def write_cifar(
    folder: Path, files: list[str], label_bytes: int, classes: int, rows: int = 3
) -> list[np.ndarray]:
    folder.mkdir(parents=True)
    parts = []
    for file in files:
        part = RNG.integers(0, 256, (rows, label_bytes + 3072), np.uint8)
        part[:, :label_bytes] = RNG.integers(0, classes, (rows, label_bytes))
        part.tofile(folder / file)
        parts.append(part)
    return parts


CIFAR10 = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]


@pytest.mark.parametrize("sub", ["cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"])
def test_cifar10_binary(tmp_path: Path, sub: str) -> None:
    rows = np.concatenate(write_cifar(tmp_path / sub, CIFAR10, 1, 10))
    source = load("cifar10", tmp_path)
    assert source.x.shape == (18, 3, 32, 32)
    np.testing.assert_array_equal(source.y, rows[:, 0])
    assert source.x[5, 2, 4, 7] == rows[5, 1 + 2 * 1024 + 4 * 32 + 7]  # channel, row, column
    assert source.official_test is not None
    assert source.official_test.sum() == 3
    assert source.official_test[-3:].all()


def test_cifar100_binary_uses_fine_labels(tmp_path: Path) -> None:
    rows = np.concatenate(write_cifar(tmp_path / "cifar100", ["train.bin", "test.bin"], 2, 20))
    source = load("cifar100", tmp_path)
    np.testing.assert_array_equal(source.y, rows[:, 1])
    assert source.classes == 100


def test_cifar_faults(tmp_path: Path) -> None:
    write_cifar(tmp_path / "cifar10", CIFAR10, 1, 10)
    path = tmp_path / "cifar10" / "data_batch_3.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    fails("cifar10", tmp_path, "data_batch_3.bin", "3073-byte")
    path.write_bytes(bytes([200]) + whole[1:])
    fails("cifar10", tmp_path, "label 200")
    path.unlink()
    fails("cifar10", tmp_path, "lacks data_batch_3.bin")
