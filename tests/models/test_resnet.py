"""ResNet-18 and MobileNet-V2 for small images: sizes as published, and stems that keep pixels."""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.models.resnet import MOBILE, mobilenet_v2, resnet18


@pytest.mark.parametrize(
    ("make", "parameters"), [(resnet18, 11_173_962), (mobilenet_v2, 2_236_682)]
)
def test_they_have_as_many_parameters_as_was_published(make, parameters) -> None:
    net = make((3, 32, 32), 10)
    assert sum(one.numel() for one in net.parameters()) == parameters
    assert net[-1].out_features == 10


def test_small_images_are_not_shrunk_before_the_blocks() -> None:
    with torch.inference_mode():
        x = torch.zeros(2, 1, 28, 28)
        stem = resnet18((1, 28, 28), 4)[:3]
        assert stem(x).shape == (2, 64, 28, 28)
        small = mobilenet_v2((1, 28, 28), 4).eval()
        assert small[:3](x).shape == (2, 32, 28, 28)
        assert small(x).shape == (2, 4)


def test_a_shortcut_is_a_convolution_only_where_the_shape_changes() -> None:
    blocks = [one for one in resnet18((3, 32, 32), 10) if hasattr(one, "shortcut")]
    plain = [isinstance(one.shortcut, nn.Identity) for one in blocks]
    assert plain == [True, True, False, True, False, True, False, True]
    mobile = [one for one in mobilenet_v2((3, 32, 32), 10) if hasattr(one, "shortcut")]
    assert len(mobile) == sum(blocks - 1 for _, _, blocks, _ in MOBILE)
    assert all(isinstance(one.after, nn.Identity) for one in mobile)  # linear bottlenecks


def test_a_block_adds_what_came_in() -> None:
    block = next(one for one in resnet18((3, 32, 32), 10) if hasattr(one, "shortcut")).eval()
    for parameter in block.main.parameters():
        parameter.data.zero_()
    x = torch.rand(2, 64, 4, 4)
    torch.testing.assert_close(block(x), x)


@pytest.mark.parametrize("shape", [(3, 27, 40), (40,), (28, 28)])
def test_too_small_images_are_refused(shape) -> None:
    with pytest.raises(FedkinError, match=r"model 'resnet18' needs images of 28×28 .*: try dnn"):
        resnet18(shape, 10)
    with pytest.raises(FedkinError, match="model 'mobilenet_v2' needs images"):
        mobilenet_v2(shape, 10)
