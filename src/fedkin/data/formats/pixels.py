"""Encoded pictures as one array of bytes: all that cannot be taken is named at once."""

import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, Literal, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, first_line, many, some
from fedkin.data.arrays import Array, Mask
from fedkin.data.quality.problem import Problem, Unreadable, typed_setting

# Decoded by what they hold (JPEG: MPO too): others of Pillow's start programs (Ghostscript)
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
TWO_BYTES = 65_535  # the largest number of 16 bits
ORIENTATION = 0x0112  # the tag of EXIF
MODES = {"grey": "L", "rgb": "RGB"}
RGB = 3  # channels
NAMED = 20  # files that are named of those that are no images
Colour = Literal["auto", "grey", "rgb"]


class Pictures(NamedTuple):
    """Pictures of one size and colour.

    x: uint8 [n, channels, height, width]. as_colour: [n] bool, those that are grey and became
    colour because others are. transparent: [n] bool, those that had an alpha channel, which is
    gone.
    """

    x: Array
    as_colour: Mask
    transparent: Mask


class _Picture(NamedTuple):
    """One picture as its file has it. pixels: uint8 [height, width, channels]."""

    pixels: Array
    grey: bool
    transparent: bool


def pixels(
    reads: Sequence[Callable[[], bytes]], places: Sequence[str], colour: Colour, size: Sequence[int]
) -> Pictures:
    """Encoded pictures, decoded; ``places`` names them in errors.

    Args:
        reads: A function a picture, which gives its encoded bytes.
        places: What messages call each picture.
        colour: "grey", "rgb", or "auto".
        size: [height, width] in pixels; () leaves pictures as they are.

    Returns:
        All of them, in the order of ``reads``.

    Raises:
        FedkinError: Some cannot be decoded, or sizes differ; names them.
    """
    _pillow()
    faults: list[str] = []
    shapes: dict[tuple[int, int], list[str]] = {}
    grey, transparent = np.zeros((2, len(reads)), dtype=bool)
    pictures: Array | None = None
    for at, (read, place) in enumerate(zip(reads, places, strict=True)):
        one = _tried(faults, _decoded, read, place, colour, size)
        if one is None:
            continue
        shapes.setdefault(one.pixels.shape[:2], []).append(place)
        grey[at], transparent[at] = one.grey, one.transparent
        if pictures is None:
            pictures = np.empty((len(reads), *one.pixels.shape), dtype=np.uint8)
        if one.pixels.shape[:2] == pictures.shape[1:3]:
            pictures = _with(pictures, at, one.pixels)
    _refuse(faults, shapes)
    if pictures is None:
        raise FedkinError("there is no picture to read")
    as_colour = grey & (colour == "auto" and pictures.shape[-1] == RGB)
    x = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
    return Pictures(x, as_colour, transparent)


def _with(pictures: Array, at: int, one: Array) -> Array:
    """All pictures [n, height, width, channels], with one more among them: the first in colour
    makes all of them colour.
    """
    if one.shape[-1] > pictures.shape[-1]:
        pictures = np.repeat(pictures, one.shape[-1], axis=-1)
    pictures[at] = one
    return pictures


def changes(pictures: Pictures, client: Sequence[str]) -> list[str]:
    """What is told of pictures that are not taken as they are.

    Args:
        pictures: As they were decoded.
        client: [n] whose each is; () where nobody is named.

    Returns:
        A sentence for each kind of change.
    """
    told = [
        (pictures.as_colour, "are grey and taken as colour"),
        (pictures.transparent, "have an alpha channel, which is left out"),
    ]
    return [
        f"{which.sum():,} of {many(len(which), 'image')} {what}{_whose(which, client)}"
        for which, what in told
        if which.any()
    ]


def _whose(which: Mask, client: Sequence[str]) -> str:
    if not len(client):
        return ""
    names, owner = np.unique(np.asarray(client), return_inverse=True)
    counts, sizes = np.bincount(owner, weights=which), np.bincount(owner)
    each = [f"{names[k]}: {counts[k]:.0f} of {sizes[k]}" for k in np.flatnonzero(counts)]
    return f" ({some(each)})"


def _refuse(faults: Sequence[str], shapes: dict[tuple[int, int], list[str]]) -> None:
    """Says all that is wrong, in one sentence; sizes alone have a fix."""
    sizes = None if len(shapes) < 2 else _sizes(shapes)
    if not faults:
        if sizes is not None:
            raise sizes
        return
    more = f"; and {many(len(faults) - 1, 'more image')}: " if len(faults) > 1 else ""
    rest = some(faults[1:], NAMED)
    besides = "" if sizes is None else f"; besides, {sizes}"
    raise FedkinError(f"{faults[0]}{more}{rest}{besides}")


def _sizes(shapes: dict[tuple[int, int], list[str]]) -> Unreadable:
    usual = max(shapes, key=lambda shape: len(shapes[shape]))
    odd = next(shape for shape in shapes if shape != usual)
    counts = sorted(shapes, key=lambda shape: -len(shapes[shape]))
    all_sizes = some([f"{len(shapes[one])} of {one[0]}×{one[1]}" for one in counts])
    says = (
        f"{shapes[odd][0]} has {odd[0]}×{odd[1]} pixels and {shapes[usual][0]} has "
        f"{usual[0]}×{usual[1]} (height × width; {all_sizes})"
    )
    size = [int(usual[0]), int(usual[1])]
    n = sum(map(len, shapes.values()))
    fix, share = {"data.size": size}, 1 - len(shapes[usual]) / n
    why = "all are brought to the size that most have"
    return Unreadable(
        [Problem("sizes of images", says, why, fix, share)],
        f"{says}: bring all to one size, or say {typed_setting('data.size', size)}",
    )


def _tried(faults: list[str], work: Callable[..., Any], *arguments: Any) -> Any:
    """What some work gives; None where it cannot be done, which is noted."""
    try:
        return work(*arguments)
    except FedkinError as error:
        faults.append(str(error))
        return None


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise FedkinError(
            "pictures need the package Pillow, the extra images: in fedkin's checkout, "
            "pip install -c constraints.txt '.[images]'"
        ) from None
    return Image


def _opened(read: Callable[[], bytes], place: str) -> Any:
    from PIL import Image, UnidentifiedImageError

    data = b""
    try:
        data = read()
        with warnings.catch_warnings():  # of notes about the pixels, and of a large one: its memory
            warnings.simplefilter("ignore")  # is bounded (``within_room``)
            return Image.open(BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        why = f"it is damaged, or none of {', '.join(FORMATS)}"
        if not data:
            why = "it has 0 bytes: copy it again, or move it out of the folder"
        raise FedkinError(f"{place} is no readable image: {why}") from None
    except Exception as error:  # a damaged file can raise anything in a decoder
        raise FedkinError(f"{place} is no readable image: {_reason(error)}") from None


def _decoded(
    read: Callable[[], bytes], place: str, colour: Colour, size: Sequence[int]
) -> _Picture:
    image = _opened(read, place)
    grey = image.mode in ("1", "L", "F") or image.mode.startswith("I")
    transparent = bool(getattr(image, "has_transparency_data", False))  # from Pillow 10.1 on
    mode = MODES["grey" if grey else "rgb"] if colour == "auto" else MODES[colour]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as above
            _check_pages(image, place)
            image = _in_eight_bits(_upright(image), place).convert(mode)
        if size:
            image = image.resize((size[1], size[0]))
        array = np.asarray(image, dtype=np.uint8)
        return _Picture(array.reshape(*array.shape[:2], -1), grey, transparent)
    except FedkinError:
        raise
    except Exception as error:  # as above
        raise FedkinError(f"{place} is no readable image: {_reason(error)}") from None


def _check_pages(image: Any, place: str) -> None:
    """One sample is one picture. Phones add a small one to a photo (MPO), which tells nothing."""
    pages = int(getattr(image, "n_frames", 1))
    if pages > 1 and image.format != "MPO":
        raise FedkinError(
            f"{place} holds {pages} images, of which one sample takes one: save each as a file"
        )


def _upright(image: Any) -> Any:
    """As every viewer shows it: cameras note how they were held instead of turning the pixels.

    Nothing else of the notes is read: what is odd in them takes no pixel away.
    """
    from PIL.Image import Transpose

    image.load()  # which turns a TIFF itself, and takes its note away
    try:
        noted = image.getexif().get(ORIENTATION)
    except Exception:  # notes that are damaged can raise anything
        return image
    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[noted]) if noted in turns else image


def _in_eight_bits(image: Any, place: str) -> Any:
    """Of 16 bits a pixel the upper eight: Pillow would cut all that is above 255."""
    if image.mode == "F":
        raise FedkinError(
            f"{place} holds numbers that are no pixels of 8 or 16 bits: write them as such, or as "
            "arrays (.npz)"
        )
    if not image.mode.startswith("I"):
        return image
    from PIL import Image

    values = np.asarray(image).astype(np.int64)
    if values.size and (values.min() < 0 or values.max() > TWO_BYTES):
        raise FedkinError(f"{place} has pixels outside 0 to {TWO_BYTES}: write 8 or 16 bits each")
    if values.any() and values.max() < 256:
        raise FedkinError(f"{place} uses 8 of its 16 bits a pixel: write it with 8")
    return Image.fromarray((values >> 8).astype(np.uint8))


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None  # of a file, without its path
    return reason or first_line(error).partition(" <_io")[0]  # Pillow names the stream in memory
