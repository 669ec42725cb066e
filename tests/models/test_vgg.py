"""VGG's sizes."""

from fedkin.core.rng import Key
from fedkin.models.build import build
from tests.models.build_examples import count

GREY, COLOUR, ROW, WINDOW = (1, 28, 28), (3, 32, 32), (60,), (12,)


def test_vgg_counts():
    small, large = build("vgg11", COLOUR, 10, Key(0)), build("vgg13", COLOUR, 10, Key(0))
    assert round(count(small) / 1e6, 2) == 9.76
    assert count(large) - count(small) == (64 * 64 + 128 * 128) * 9 + 64 * 3 + 128 * 3
    buffers = sum(
        value.numel() for name, value in small.initial.items() if name.startswith("buffer:")
    )
    assert buffers == 2 * (64 + 128 + 256 * 2 + 512 * 4)
    assert not small.pads
