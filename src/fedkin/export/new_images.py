"""New images as a model takes them that was trained on images: files instead of arrays."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file
from fedkin.data.arrays import Array
from fedkin.data.formats.images import ENDINGS, PICTURE, is_picture
from fedkin.data.formats.pixels import Colour, pixels
from fedkin.data.population import Population
from fedkin.data.quality.problem import Unreadable

COLOURS: dict[int, Colour] = {1: "grey", 3: "rgb"}  # by the channels that a model takes


def takes_images(population: Population) -> bool:
    """Whether a model takes what files of images hold.

    Args:
        population: The run's.

    Returns:
        True for bytes [n, channels, height, width], of one channel or of three.
    """
    x = population.x
    return x.dtype == torch.uint8 and x.ndim == 4 and x.shape[1] in COLOURS


def image_files(path: Path, population: Population) -> list[Path]:
    """The images at a path, where a model takes images.

    Args:
        path: A file, or a folder.
        population: The run's.

    Returns:
        Files in the order of their names, of folders inside it too, without hidden ones; [] where
        there are none, or where the model takes other samples.
    """
    if not takes_images(population):
        return []
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if is_picture(one, path) and one.is_file())
    return [path] if path.suffix.lower() in ENDINGS and path.is_file() else []


def read_images(files: list[Path], population: Population, options: Mapping[str, Any]) -> Array:
    """Images, read as those of training were: of as many channels, brought to ``data.size`` where
    the run did so.

    Args:
        files: At least one.
        population: The run's.
        options: The keys of its [data].

    Returns:
        uint8 [files, channels, height, width].

    Raises:
        FedkinError: One is no image, or has another size than those of training.
    """
    channels, *size = population.x.shape[1:]
    reads = [partial(read_file, file, PICTURE) for file in files]
    asked = options.get("size", ())
    try:
        found = pixels(reads, [str(file) for file in files], COLOURS[channels], asked).x
    except Unreadable:  # whose fix is one of training: here the size is known
        raise FedkinError(
            f"{files[0]} and others differ in size, and the model was trained on images of "
            f"{size[0]}×{size[1]}: bring all to that size"
        ) from None
    if list(found.shape[2:]) != size:
        raise FedkinError(
            f"{files[0]} has {found.shape[2]}×{found.shape[3]} pixels, and the model was trained "
            f"on images of {size[0]}×{size[1]}: bring it to that size"
        )
    return found
