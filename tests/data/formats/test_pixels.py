"""Encoded pictures as one array: each is read once, in the colour that all of them have."""

from io import BytesIO

import numpy as np
import pytest

from fedkin.data.formats.pixels import Colour, pixels

pytest.importorskip("PIL.Image")


def encoded(mode: str, level: int) -> bytes:
    from PIL import Image

    file = BytesIO()
    Image.new(mode, (5, 4), level if mode == "L" else (level,) * 3).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("colour", ["auto", "grey", "rgb"])
@pytest.mark.parametrize("size", [(), (8, 10)])
def test_each_is_read_once(colour: Colour, size: tuple[int, ...]) -> None:
    files = {"a": encoded("L", 10), "b": encoded("RGB", 20), "c": encoded("L", 30)}
    read: list[str] = []
    reads = [lambda name=name: read.append(name) or files[name] for name in files]
    found = pixels(reads, list(files), colour, size)
    assert read == ["a", "b", "c"]
    shape = (1 if colour == "grey" else 3, *(size or (4, 5)))
    assert found.x.shape == (3, *shape)
    assert found.x.tolist() == [np.full(shape, level).tolist() for level in (10, 20, 30)]
    assert found.as_colour.tolist() == [colour == "auto", False, colour == "auto"]
    assert not found.transparent.any()
