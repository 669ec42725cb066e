"""Pictures as a small convolutional network sees them whose filters are not trained.

The filters are patches of the pictures themselves, decorrelated (Coates, Lee & Ng, 2011): what a
picture has of them is rectified, and added up in each of a few regions.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Floats = NDArray[np.float64]
FILTERS, SIDE, STRIDE = 64, 5, 2  # patches, their pixels across, the step between their places
REGIONS = 3  # across and down
LEAST = 12  # pixels of a picture across, below which it has too few patches
DRAWN = 4000  # patches that decorrelate
SOFT = 0.1  # of the mean variance, added to each
AT_ONCE = 500  # pictures


def is_picture(x: Tensor) -> bool:
    """Whether samples [n, channels, height, width] are large enough to have patches.

    Args:
        x: Samples [n, …].

    Returns:
        False for other shapes, and for pictures below LEAST pixels across.
    """
    return x.dim() == 4 and min(x.shape[2:]) >= LEAST


def seen(x: Tensor, rng: np.random.Generator) -> Floats:
    """What pictures have of some patches, region by region.

    Args:
        x: Pictures [n, channels, height, width], of any kind of numbers.
        rng: Draws the patches.

    Returns:
        [n, FILTERS · REGIONS²], not standardised.
    """
    filters, threshold = _filters(x, rng)
    features = []
    for first in range(0, len(x), AT_ONCE):
        maps = functional.conv2d(_even(x[first : first + AT_ONCE]), filters, stride=STRIDE)
        kept = functional.relu(maps - threshold[:, None, None])
        features.append(functional.adaptive_avg_pool2d(kept, REGIONS).flatten(1))
    return torch.cat(features).double().numpy()


def _even(x: Tensor) -> Tensor:
    """Each picture less its mean, by its deviation."""
    x = x.float()
    x = x - x.mean((1, 2, 3), keepdim=True)
    return x / x.std((1, 2, 3), keepdim=True).clamp_min(1e-6)


def _filters(x: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """[FILTERS, channels, SIDE, SIDE] and the mean of what the drawn patches have of each."""
    of = rng.integers(len(x), size=DRAWN)
    top = rng.integers(x.shape[2] - SIDE + 1, size=DRAWN)
    left = rng.integers(x.shape[3] - SIDE + 1, size=DRAWN)
    even = _even(x[np.unique(of)])
    place = np.searchsorted(np.unique(of), of)
    drawn = torch.stack(
        [
            even[i, :, t : t + SIDE, w : w + SIDE].flatten()
            for i, t, w in zip(place, top, left, strict=True)
        ]
    ).double()
    drawn = drawn - drawn.mean(0)
    values, vectors = torch.linalg.eigh(drawn.T @ drawn / len(drawn))
    white = vectors / (values.clamp_min(0) + SOFT * values.mean()).sqrt()
    filters = drawn[:FILTERS] @ white @ white.T
    filters = filters / filters.norm(dim=1, keepdim=True).clamp_min(1e-9)
    threshold = (drawn @ filters.T).clamp_min(0).mean(0)
    return filters.float().reshape(FILTERS, x.shape[1], SIDE, SIDE), threshold.float()
