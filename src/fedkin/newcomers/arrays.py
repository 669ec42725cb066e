"""Arrays whose samples come after training, in the type of the run's: no value becomes another."""

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, features, images
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS


def as_in_the_run(x: Array, like: Population, where: str) -> Array:
    """Samples of the type that a run's are, pictures with the channel axis first.

    Args:
        x: [n, …] as somebody stored them.
        like: The run's population.
        where: The file, or "x", for messages.

    Returns:
        [n, …] of the type of ``like.x``, in the shape of x.

    Raises:
        FedkinError: They hold no numbers, or numbers that this type cannot hold.
    """
    wanted, checked = like.x.numpy().dtype, features(x, where)
    x = np.asarray(x)
    if like.x.dtype in TOKENS:
        return _tokens(x, like, where)
    if wanted == np.uint8:
        if x.dtype != np.uint8 and not _bytes(x, pictures=like.x.ndim > 2):
            raise other_samples(x, like, where)
        return images(x.astype(np.uint8))
    flags = like.x.ndim == 2 and x.max() <= 1
    if checked.dtype == np.uint8 and not flags:  # pixels, which nobody scaled
        raise other_samples(x, like, where)
    return checked.astype(wanted)


def other_samples(x: Array, like: Population, where: str) -> FedkinError:
    """The error for samples that are not as the run's are.

    Args:
        x: [n, …].
        like: The run's population.
        where: The file, or "x", for messages.

    Returns:
        To be raised by the caller.
    """
    wanted = like.x.numpy().dtype
    scaled = wanted == np.uint8 and x.dtype != np.uint8
    return FedkinError(
        f"{where}: its samples are {x.dtype} {list(x.shape[1:])}, the model takes "
        f"{wanted} {list(like.x.shape[1:])}" + (", whole numbers from 0 to 255" if scaled else "")
    )


def _tokens(x: Array, like: Population, where: str) -> Array:
    most = like.classes + 1  # the unknown symbol and padding come after the symbols themselves
    whole = x.dtype.kind in "ui" or (x.dtype.kind == "f" and np.equal(x, np.rint(x)).all())
    if not whole or int(x.min()) < 0 or int(x.max()) > most:
        raise FedkinError(
            f"{where}: its samples are {x.dtype} from {x.min()} to {x.max()}, and the model takes "
            f"tokens: whole numbers from 0 to {most}"
        )
    return x.astype(like.x.numpy().dtype)


def _bytes(x: Array, pictures: bool) -> bool:
    """Whether numbers are whole and within 0 to 255. Floats of a picture that are all 0.0 or 1.0
    are rather black and white: as bytes they would both be black.
    """
    if x.dtype.kind == "b" or not (
        np.equal(x, np.rint(x)).all() and x.min() >= 0 and x.max() < 256
    ):
        return False
    return x.dtype.kind in "ui" or not pictures or float(x.max()) != 1
