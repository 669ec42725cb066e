"""Pictures as the public code of papers prepares them: standardized, cropped and mirrored."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data import named_sets
from fedkin.data.pictures import MARGIN, PIXELS, cropped_and_flipped
from tests.data.sources_examples import mnist_arrays


def test_standardized_pixels_lie_around_zero(tmp_path: Path) -> None:
    arrays = mnist_arrays()
    np.savez(tmp_path / "mnist.npz", **arrays)
    plain, source = (named_sets.mnist(tmp_path, pixels=pixels) for pixels in PIXELS)
    values = plain.x.astype(float)
    deviation = values.std(axis=0)
    assert source.x.dtype == np.float32
    np.testing.assert_allclose(source.x.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(source.x.std(axis=0), deviation / (deviation + 1e-3), atol=1e-5)
    np.testing.assert_array_equal(source.y, plain.y)
    with pytest.raises(FedkinError, match="use 'bytes' or 'standardized'"):
        named_sets.mnist(tmp_path, pixels="grey")
    with pytest.raises(FedkinError, match="use 'none' or 'crop_flip'"):
        named_sets.mnist(tmp_path, augment="mixup")


def test_a_cropped_picture_is_the_same_picture_elsewhere() -> None:
    """Two lit pixels of different brightness, far from the edges: where they go says what was
    done."""
    x = np.zeros((400, 2, 20, 24), dtype=np.uint8)
    x[:, 1, 9, 10], x[:, 1, 9, 12] = 100, 200
    out = cropped_and_flipped(x)
    assert (out.shape, out.dtype) == (x.shape, x.dtype)
    assert not out[:, 0].any()
    rows, dark = np.array([np.argwhere(picture == 100)[0] for picture in out[:, 1]]).T
    same, bright = np.array([np.argwhere(picture == 200)[0] for picture in out[:, 1]]).T
    np.testing.assert_array_equal(rows, same)
    mirrored = bright < dark
    np.testing.assert_array_equal(np.where(mirrored, dark - bright, bright - dark), 2)
    left = np.where(mirrored, 23 - dark, dark)
    assert set(rows) == {9 + d for d in range(-MARGIN, MARGIN + 1)}
    assert set(left) == {10 + d for d in range(-MARGIN, MARGIN + 1)}
    assert 0.4 < mirrored.mean() < 0.6
    assert abs(np.corrcoef([rows, left, mirrored]) - np.eye(3)).max() < 0.2
    np.testing.assert_array_equal(out, cropped_and_flipped(x))


def test_what_a_crop_leaves_out_is_black() -> None:
    out = cropped_and_flipped(np.full((50, 1, 8, 8), 7, dtype=np.uint8))
    lit = (out == 7).reshape(50, -1).mean(axis=1)
    assert set(np.unique(out)) == {0, 7}
    assert lit.min() < 0.5 < lit.max() <= 1
