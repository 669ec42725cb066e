"""VGG11 and VGG13 for 32×32 images, with batch norm (Simonyan & Zisserman, 2015; Ioffe & Szegedy,
2015).
"""

from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.models.small import Shape

LAYERS: dict[str, tuple[int, ...]] = {  # channels of the convolutions; 0 is a max pool
    "vgg11": (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
    "vgg13": (64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
}


def _vgg(name: str, shape: Shape, classes: int) -> nn.Module:
    if len(shape) != 3 or shape[1:] != (32, 32):
        raise FedkinError(
            f"model {name!r} needs 32×32 images, the data have shape {list(shape)}: try dnn "
            "or cnn_comet"
        )
    parts: list[nn.Module] = []
    channels = shape[0]
    for width in LAYERS[name]:
        if width == 0:
            parts.append(nn.MaxPool2d(2))
            continue
        parts += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    classifier = [
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, classes),
    ]
    return nn.Sequential(*parts, nn.Flatten(), *classifier)


def vgg11(shape: Shape, classes: int) -> nn.Module:
    """VGG11 with classifier 512-512-C: 9.76 M parameters for 10 classes, what the papers' tables
    count with.

    Args:
        shape: Of one sample, [channels, 32, 32].
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of 32×32 pixels.
    """
    return _vgg("vgg11", shape, classes)


def vgg13(shape: Shape, classes: int) -> nn.Module:
    """VGG13 with classifier 512-512-C.

    Args:
        shape: Of one sample, [channels, 32, 32].
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of 32×32 pixels.
    """
    return _vgg("vgg13", shape, classes)
