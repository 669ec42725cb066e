"""Patches of pictures: what a convolution is, and a verdict that pixels alone cannot give."""

import numpy as np
import pytest
import torch

from fedkin.data.population import Population
from fedkin.doctor import patches
from fedkin.doctor.verdict import examined, verdict

SIDE = 16


def drawn(seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(7, 2, 14, 17)))


def test_what_a_picture_has_of_a_patch_is_counted_place_by_place() -> None:
    x = drawn(0)
    filters, threshold = patches._filters(x, np.random.default_rng(3))
    lengths = filters.flatten(1).norm(dim=1)
    assert torch.allclose(lengths, torch.ones(patches.FILTERS), atol=1e-5)
    picture = x[4].numpy()
    picture = (picture - picture.mean()) / picture.std(ddof=1)
    places = [range(0, 14 - 5 + 1, 2), range(0, 17 - 5 + 1, 2)]  # 5 down, 7 across
    has = np.array(
        [
            [(filters[9].numpy() * picture[:, i : i + 5, j : j + 5]).sum() for j in places[1]]
            for i in places[0]
        ]
    )
    has = np.maximum(has - float(threshold[9]), 0)
    # three regions of 5 places overlap by one: 0-1, 1-3, 3-4; of 7: 0-2, 2-4, 4-6
    rows, columns = [(0, 2), (1, 4), (3, 5)], [(0, 3), (2, 5), (4, 7)]
    expected = [has[a:b, c:d].mean() for a, b in rows for c, d in columns]
    found = patches.seen(x, np.random.default_rng(3)).reshape(7, patches.FILTERS, 9)
    assert np.allclose(found[4, 9], expected, atol=1e-5)
    assert found.max() > 0


def test_brightness_and_contrast_do_not_matter() -> None:
    x = drawn(1)
    one = patches.seen(x, np.random.default_rng(0))
    other = patches.seen(3 * x + 40, np.random.default_rng(0))
    assert np.allclose(one, other, atol=1e-4)


def test_small_pictures_and_tables_have_no_patches() -> None:
    assert patches.is_picture(torch.zeros(2, 1, 12, 13))
    assert not patches.is_picture(torch.zeros(2, 1, 13, 11))
    assert not patches.is_picture(torch.zeros(2, 300))


def bars(told: bool) -> Population:
    """Twelve clients with 40 pictures each: a bar somewhere, along or across. Unless ``told``,
    labels have nothing to do with it.
    """
    rng = np.random.default_rng(5)
    n = 12 * 40
    y = rng.integers(2, size=n)
    x = 0.3 * rng.normal(size=(n, 1, SIDE, SIDE))
    for picture, along in zip(x, y, strict=True):
        i, j = rng.integers(SIDE - 5, size=2)
        picture[0, i : i + (1 if along else 6), j : j + (6 if along else 1)] += 1.5
    if not told:
        y = rng.permutation(y)
    rows = np.arange(n).reshape(12, 40)
    return Population(
        name="bars",
        task="classification",
        x=torch.from_numpy(x),
        y=torch.from_numpy(y),
        classes=2,
        train=tuple(rows[:, :24]),
        val=tuple(rows[:, 24:30]),
        test=tuple(rows[:, 30:]),
    )


@pytest.mark.rotating
def test_a_shape_that_lies_anywhere_is_seen() -> None:
    """No pixel by itself tells the classes apart, and 30 pictures teach nobody the shape."""
    found = examined(bars(told=True), "accuracy")
    assert found is not None
    told = verdict(found)
    assert told["federate"]
    assert told["gain"] > 0.1


@pytest.mark.rotating
def test_labels_by_chance_are_no_gain() -> None:
    found = examined(bars(told=False), "accuracy")
    assert found is not None
    assert not verdict(found)["federate"]
