"""What the public code of papers does to all pictures of a set before it divides them."""

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array

PIXELS = ("bytes", "standardized")
AUGMENT = ("none", "crop_flip")
MARGIN = 4  # pixels of black on every side, of which a crop leaves as many as a picture had


def prepared(x: Array, name: str, pixels: str = "bytes", augment: str = "none") -> Array:
    """Pictures as ``[data] pixels`` and ``augment`` ask for them.

    Args:
        x: [n, channels, height, width] bytes.
        name: Of the data set, for messages.
        pixels: "bytes" or "standardized".
        augment: "none" or "crop_flip".

    Returns:
        Of the shape of ``x``; bytes, or float32 where they are standardized.

    Raises:
        FedkinError: ``pixels`` or ``augment`` is not known.
    """
    if pixels not in PIXELS:
        raise FedkinError(f"{name}: pixels={pixels!r} is not known: use 'bytes' or 'standardized'")
    if augment not in AUGMENT:
        raise FedkinError(f"{name}: augment={augment!r} is not known: use 'none' or 'crop_flip'")
    drawn = cropped_and_flipped(x) if augment == "crop_flip" else x
    return standardized(drawn) if pixels == "standardized" else drawn


def standardized(x: Array) -> Array:
    """Every pixel less its mean, by its standard deviation plus 0.001, over ALL pictures: the
    public generator of pFedMe (data/Mnist/generate_niid_20users.py), which takes test pictures in.

    Args:
        x: [n, …] bytes.

    Returns:
        float32, of the same shape.
    """
    values = x.astype(np.float32)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    return np.asarray((values - mean) / (deviation + 0.001), dtype=np.float32)


def cropped_and_flipped(x: Array) -> Array:
    """Every picture moved by up to four pixels each way, and mirrored with chance ½, once.

    torchvision's ``RandomCrop(padding=4)`` and ``RandomHorizontalFlip``, as the public code of
    federated adaptation (utils/image_helper.py) loads its training pictures; PersFL takes its
    second data split from there. One draw is part of the data set, the same in every run.

    Args:
        x: [n, channels, height, width] bytes.

    Returns:
        Bytes of the same shape.
    """
    n, _, height, width = x.shape
    rng = np.random.default_rng(0)
    down, right = rng.integers(0, 2 * MARGIN, (2, n), endpoint=True)
    mirrored = rng.random(n) < 0.5
    rows = down[:, None] + np.arange(height)
    columns = right[:, None] + np.arange(width)
    columns[mirrored] = columns[mirrored, ::-1]
    margins = ((0, 0), (0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN))
    wide = np.pad(x, margins)
    every = np.arange(n)[:, None, None]
    # [n, height, width, channels]: the channel axis lies between two indexed ones
    crops = wide[every, :, rows[:, :, None], columns[:, None, :]]
    return np.ascontiguousarray(crops.transpose(0, 3, 1, 2))
