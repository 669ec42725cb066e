"""Small models of the papers.

``shape`` is one sample's shape, e.g. (1, 28, 28); ``classes`` the number of outputs.
"""

import itertools
import math

import torch
from torch import Tensor, nn

from fedkin.core.errors import FedkinError

Shape = tuple[int, ...]


def mlr(shape: Shape, classes: int) -> nn.Module:
    """Multinomial logistic regression: one linear layer.

    Args:
        shape: Of one sample; it is flattened.
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].
    """
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))


def dnn(shape: Shape, classes: int, hidden: int = 128) -> nn.Module:
    """One hidden ReLU layer: 128 units in CGPFL and PPFL's code, 100 in PersFL
    (``hidden = 100``).

    Args:
        shape: Of one sample; it is flattened.
        classes: Numbers that it gives a sample.
        hidden: Units of the hidden layer.

    Returns:
        A module: [batch, …] → logits [batch, classes].
    """
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), hidden), nn.ReLU(), nn.Linear(hidden, classes)
    )


def glm(shape: Shape, classes: int) -> nn.Module:
    """A generalized linear model: one linear predictor. The likelihood comes from
    [model] family.

    Args:
        shape: Of one sample; it is flattened.
        classes: Not used: there is one linear predictor.

    Returns:
        A module: [batch, …] → linear predictors [batch, 1].
    """
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 1))


class _Convolutional(nn.Module):
    """Convolutions, then fully connected layers; the first of these is sized by one forward pass of
    zeros.
    """

    def __init__(
        self, features: nn.Module, shape: Shape, widths: tuple[int, ...], classes: int
    ) -> None:
        super().__init__()
        self.features = features
        flat = features(torch.zeros(1, *shape)).numel()
        sizes = (flat, *widths, classes)
        layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
        self.classifier = nn.Sequential(*_with_relu(layers))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.classifier(self.features(x).flatten(1))
        return out


def _with_relu(layers: list[nn.Linear]) -> list[nn.Module]:
    return [*(part for layer in layers[:-1] for part in (layer, nn.ReLU())), layers[-1]]


def needs_image(name: str, shape: Shape, least: int) -> None:
    """Refuse samples that are no pictures, or too small ones.

    Args:
        name: Of the model, for the sentence.
        shape: Of one sample.
        least: Pixels of a side.

    Raises:
        FedkinError: They are not [channels, height, width] with that many pixels.
    """
    if len(shape) != 3 or min(shape[1:]) < least:
        raise FedkinError(
            f"model {name!r} needs images of {least}×{least} pixels or more, the data have "
            f"shape {list(shape)}: try dnn"
        )


def _two_convolutions(channels: int, first: int, second: int) -> nn.Sequential:
    """Two 5×5 convolutions, each with max pool, to so many channels."""
    return nn.Sequential(
        nn.Conv2d(channels, first, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


def cnn_persfl(shape: Shape, classes: int) -> nn.Module:
    """PersFL's CNN: two 5×5 convolutions (6, 16 channels) with max pool, fully connected
    400-120-84-C.

    With 3×32×32 images the flattened features are the paper's 400.

    Args:
        shape: Of one sample, [channels, height, width] with at least 16×16 pixels.
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of that size.
    """
    needs_image("cnn_persfl", shape, 16)
    return _Convolutional(_two_convolutions(shape[0], 6, 16), shape, (120, 84), classes)


def cnn_comet(shape: Shape, classes: int) -> nn.Module:
    """COMET's CNN: two 5×5 convolutions with max pool, fully connected 120-100-84-50-C.

    Args:
        shape: Of one sample, [channels, height, width] with at least 16×16 pixels.
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of that size.

    Reading: the paper does not give the channels; 6 and 16, as in the LeNet of the other papers.
    """
    needs_image("cnn_comet", shape, 16)
    return _Convolutional(_two_convolutions(shape[0], 6, 16), shape, (120, 100, 84, 50), classes)


def cnn_cgpfl(shape: Shape, classes: int) -> nn.Module:
    """CGPFL's CNN: two 5×5 convolutions (32, 64 channels) with max pool, fully connected 512-C.

    Args:
        shape: Of one sample, [channels, height, width] with at least 16×16 pixels.
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of that size.

    Reading: the paper says "two convolutional and two fully connected layers"; widths as in
    FedAvg's CNN.
    """
    needs_image("cnn_cgpfl", shape, 16)
    return _Convolutional(_two_convolutions(shape[0], 32, 64), shape, (512,), classes)
