"""A folder tree client/class/*.png as a Source (extra ``images``)."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fedkin.core.errors import FedkinError, first_line, many, some
from fedkin.core.files import read_file
from fedkin.data.arrays import Array
from fedkin.data.source import Source, classified

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
# Decoded by what they hold (JPEG: MPO too): others of Pillow's start programs (Ghostscript)
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
PICTURE = 1 << 28  # bytes of a file that one picture may take
TWO_BYTES = 65_535  # the largest number of 16 bits
ORIENTATION = 0x0112  # the tag of EXIF
MODES = {"grey": "L", "rgb": "RGB"}
Colour = Literal["auto", "grey", "rgb"]


def has_pictures(path: Path) -> bool:
    """Whether a folder holds pictures, at any of the first three levels.

    Args:
        path: Anything that is there.

    Returns:
        By the endings of names; no file is opened.
    """
    return path.is_dir() and any(
        file.suffix.lower() in ENDINGS
        for depth in ("*", "*/*", "*/*/*")
        for file in path.glob(depth)
    )


def read_pictures(path: Path, *, colour: Colour = "auto", size: Sequence[int] = ()) -> Source:
    """uint8 [n, channels, height, width] from path/CLIENT/CLASS/image; clients and classes in
    sorted order.

    colour: "grey" or "rgb"; "auto" is grey where every picture is. size: [height, width] to bring
    all to; without it they must be equal. Files that are no pictures and folders without any are
    counted in ``said``.

    Args:
        path: The folder of the clients' folders.
        colour: "grey", "rgb", or "auto".
        size: [height, width] in pixels; () leaves pictures as they are.

    Returns:
        A Source with natural clients and named classes.

    Raises:
        FedkinError: There are no pictures, one cannot be decoded, or their sizes differ.
    """
    _check(colour, size)
    files = sorted(file for file in path.glob("*/*/*") if file.suffix.lower() in ENDINGS)
    if not files:
        raise FedkinError(
            f"{path} has no images of the form CLIENT/CLASS/image.png: sort them into such folders"
        )
    pictures = set(files)
    others = [one for one in path.rglob("*") if one not in pictures and one.is_file()]
    reads = [partial(read_file, file, PICTURE) for file in files]
    x = pixels(reads, [str(file) for file in files], colour, size)
    names, y = np.unique([file.parent.name for file in files], return_inverse=True)
    return classified(
        path.name,
        x,
        y.astype(np.int64),
        where=str(path),
        class_names=tuple(str(name) for name in names),
        client=np.array([file.parent.parent.name for file in files]),
    )._replace(said=(*_left_out(others), *_empty(path)))


def pixels(
    reads: Sequence[Callable[[], bytes]], places: Sequence[str], colour: Colour, size: Sequence[int]
) -> Array:
    """uint8 [n, channels, height, width] of encoded pictures; ``places`` names them in errors.

    Args:
        reads: A function a picture, which gives its encoded bytes.
        places: What messages call each picture.
        colour: "grey", "rgb", or "auto".
        size: [height, width] in pixels; () leaves pictures as they are.

    Returns:
        One array of all, in the order of ``reads``.

    Raises:
        FedkinError: One cannot be decoded, or sizes differ.
    """
    kind = (
        "rgb"
        if colour == "auto" and not all(_grey(read, place) for read, place in zip(reads, places))
        else colour
    )
    mode = MODES["grey" if kind == "auto" else kind]
    first = _decoded(reads[0], places[0], mode, size)
    pictures = np.empty((len(reads), *first.shape), dtype=np.uint8)
    for at, (read, place) in enumerate(zip(reads, places)):
        one = _decoded(read, place, mode, size)
        if one.shape != first.shape:
            sizes = (f"{shape[0]}×{shape[1]}" for shape in (one.shape, first.shape))
            raise FedkinError(
                f"{place} has {next(sizes)} pixels and {places[0]} has {next(sizes)}: bring "
                "all to one size, or say "
                "--set data.size=[HEIGHT,WIDTH]"
            )
        pictures[at] = one
    return (
        pictures[:, None]
        if pictures.ndim == 3
        else np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
    )


def _check(colour: str, size: Any) -> None:
    if colour not in ("auto", *MODES):
        raise FedkinError(f"data.colour={colour!r} is not known: use 'auto', 'grey' or 'rgb'")
    whole = isinstance(size, Sequence) and all(
        isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in size
    )
    if not whole or len(size) not in (0, 2):
        raise FedkinError(f"data.size={size!r} must be two whole numbers, [height, width]")


def _opened(read: Callable[[], bytes], place: str) -> Any:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise FedkinError(
            "pictures need the package Pillow, the extra images: in fedkin's checkout, "
            "pip install -c constraints.txt '.[images]'"
        ) from None
    try:
        with warnings.catch_warnings():  # of notes about the pixels, and of a large one: its memory
            warnings.simplefilter("ignore")  # is bounded (``within_room``)
            return Image.open(BytesIO(read()), formats=FORMATS)
    except UnidentifiedImageError:
        raise FedkinError(
            f"{place} is no readable image: it is damaged, or none of {', '.join(FORMATS)}"
        ) from None
    except Exception as error:  # a damaged file can raise anything in a decoder
        raise FedkinError(f"{place} is no readable image: {_reason(error)}") from None


def _grey(read: Callable[[], bytes], place: str) -> bool:
    mode = str(_opened(read, place).mode)
    return mode in ("1", "L", "F") or mode.startswith("I")


def _decoded(read: Callable[[], bytes], place: str, mode: str, size: Sequence[int]) -> Array:
    image = _opened(read, place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as above
            _check_pages(image, place)
            image = _in_eight_bits(_upright(image), place).convert(mode)
        if size:
            image = image.resize((size[1], size[0]))
        return np.asarray(image, dtype=np.uint8)
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


def _left_out(others: list[Path]) -> list[str]:
    if not others:
        return []
    shown = some(sorted(file.name for file in others))
    return [
        f"{many(len(others), 'file is not', 'files are not')} of the form "
        f"CLIENT/CLASS/image and left out: {shown}"
    ]


def _empty(path: Path) -> list[str]:
    full = {
        file.parent.parent.name for file in path.glob("*/*/*") if file.suffix.lower() in ENDINGS
    }
    bare = sorted(one.name for one in path.iterdir() if one.is_dir() and one.name not in full)
    return (
        [f"{many(len(bare), 'folder has', 'folders have')} no images, so no client: {some(bare)}"]
        if bare
        else []
    )
