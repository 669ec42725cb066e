"""ResNet-18 and MobileNet-V2 for small images, with batch norm: their stems keep 28×28 and 32×32
pixels as they are.
"""

from torch import Tensor, nn

from fedkin.models.small import Shape, needs_image

LEAST = 28  # pixels of a side
# (expansion, channels, blocks, stride) of each stage; the published network for 224×224 images has
# stride 2 in the second stage and in its stem, which would leave nothing of 32×32 pixels.
MOBILE = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _norm_conv(
    inside: int, outside: int, size: int, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    conv = nn.Conv2d(inside, outside, size, stride, padding=size // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(outside)]


class _Residual(nn.Module):
    """after(main(x) + shortcut(x))."""

    def __init__(self, main: nn.Module, shortcut: nn.Module, after: nn.Module) -> None:
        super().__init__()
        self.main, self.shortcut, self.after = main, shortcut, after

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.after(self.main(x) + self.shortcut(x))
        return out


def _basic(inside: int, outside: int, stride: int) -> nn.Module:
    """ResNet's basic block: two 3×3 convolutions; where the shape changes, a 1×1 convolution as
    shortcut.
    """
    main = [*_norm_conv(inside, outside, 3, stride), nn.ReLU(), *_norm_conv(outside, outside, 3)]
    same = stride == 1 and inside == outside
    shortcut = nn.Identity() if same else nn.Sequential(*_norm_conv(inside, outside, 1, stride))
    return _Residual(nn.Sequential(*main), shortcut, nn.ReLU())


def _inverted(inside: int, outside: int, stride: int, expansion: int) -> nn.Module:
    """MobileNet-V2's block: 1×1 up, 3×3 for each channel alone, 1×1 down without activation."""
    wide = inside * expansion
    up = [*_norm_conv(inside, wide, 1), nn.ReLU6()] if expansion > 1 else []
    each = [*_norm_conv(wide, wide, 3, stride, groups=wide), nn.ReLU6()]
    main = nn.Sequential(*up, *each, *_norm_conv(wide, outside, 1))
    return (
        _Residual(main, nn.Identity(), nn.Identity()) if stride == 1 and inside == outside else main
    )


def _head(channels: int, classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def resnet18(shape: Shape, classes: int) -> nn.Module:
    """ResNet-18 (He et al., 2016) with the 3×3 stem for 28×28 or 32×32 images: 11.17 M parameters
    for 10 classes.

    Args:
        shape: Of one sample, [channels, height, width] with at least 28×28 pixels.
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of that size.
    """
    needs_image("resnet18", shape, LEAST)
    parts: list[nn.Module] = [*_norm_conv(shape[0], 64, 3), nn.ReLU()]
    inside = 64
    for outside, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        parts += [_basic(inside, outside, stride), _basic(outside, outside, 1)]
        inside = outside
    return nn.Sequential(*parts, *_head(512, classes))


def mobilenet_v2(shape: Shape, classes: int) -> nn.Module:
    """MobileNet-V2 (Sandler et al., 2018), stem and second stage with stride 1: 2.24 M parameters
    for 10 classes.

    Args:
        shape: Of one sample, [channels, height, width] with at least 28×28 pixels.
        classes: Numbers that it gives a sample.

    Returns:
        A module: [batch, …] → logits [batch, classes].

    Raises:
        FedkinError: Samples are no pictures of that size.
    """
    needs_image("mobilenet_v2", shape, LEAST)
    parts: list[nn.Module] = [*_norm_conv(shape[0], 32, 3), nn.ReLU6()]
    inside = 32
    for expansion, outside, blocks, stride in MOBILE:
        for block in range(blocks):
            parts.append(_inverted(inside, outside, stride if block == 0 else 1, expansion))
            inside = outside
    return nn.Sequential(*parts, *_norm_conv(320, 1280, 1), nn.ReLU6(), *_head(1280, classes))
