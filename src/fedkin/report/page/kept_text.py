"""A text that takes seconds to make, kept in the user's cache."""

from collections.abc import Callable

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.settings.chosen import cache_folder
from fedkin.core.system.private import private_folder

LARGEST = 20_000_000  # bytes


def kept_text(name: str, make: Callable[[], str]) -> str:
    """What ``make`` gives, or what it gave before under this name.

    Only a folder that nobody else can write to is used: who opens a page runs what is in it.

    Args:
        name: of the file; it changes whenever the text would.
        make: makes the text.

    Returns:
        The text.
    """
    try:
        folder = private_folder(cache_folder() / "page")
    except (RuntimeError, FedkinError):  # nobody knows a home, or what it says
        folder = None
    if folder is None:
        return make()
    path = folder / name
    try:
        if 0 < path.stat().st_size <= LARGEST:
            return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        pass  # not there yet, or damaged
    text = make()
    try:
        write_file(path, text.encode())
    except OSError:
        return text  # no room: it is made again
    return text
