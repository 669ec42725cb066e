"""The folder of data and the cache: from the environment, else from a ``.fedkin.toml``.

``.fedkin.toml`` of the current folder says where its data are. Only the one in the user's home may
name the cache: what is in a cache is run, and a folder from elsewhere is not to choose it.
"""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.files import read_file, typed_path
from fedkin.core.system.private import state_folder
from fedkin.core.toml import BadToml, parse_toml

NAME = ".fedkin.toml"
LARGEST = 64 * 1024  # bytes of a settings file
DATA, CACHE = "data_dir", "cache_dir"
KEYS = (DATA, CACHE)


class Setting(NamedTuple):
    """A folder, and who said so, for messages."""

    folder: Path
    whence: str


def data_setting() -> Setting | None:
    """Where data sets lie: FEDKIN_DATA, else .fedkin.toml of the current folder, else of the home.

    Returns:
        None where nobody says.

    Raises:
        FedkinError: A settings file that cannot be understood.
    """
    named = os.environ.get("FEDKIN_DATA")
    if named:
        return Setting(Path(named), "FEDKIN_DATA")
    for file in (Path(NAME), _home()):
        if file is not None and (setting := _folder(file, DATA)) is not None:
            return setting
    return None


def cache_folder() -> Path:
    """fedkin's own cache: FEDKIN_CACHE, else ~/.fedkin.toml, else below XDG_CACHE_HOME.

    Returns:
        A path; nothing is made.

    Raises:
        RuntimeError: Nobody knows a home.
        FedkinError: A settings file that cannot be understood.
    """
    named = os.environ.get("FEDKIN_CACHE", "")
    if os.path.isabs(named):  # a relative one would be of whoever made the current folder
        return Path(named)
    home = _home()
    setting = None if home is None else _folder(home, CACHE)
    return state_folder("XDG_CACHE_HOME", ".cache") if setting is None else setting.folder


def _home() -> Path | None:
    try:
        return Path.home() / NAME
    except RuntimeError:  # nobody knows a home
        return None


def _folder(file: Path, key: str) -> Setting | None:
    value = _read(file).get(key)
    if value is None:
        return None
    return Setting((file.parent / typed_path(value)).absolute(), str(file))


def _read(file: Path) -> Mapping[str, str]:
    try:
        content = read_file(file, LARGEST)
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.EISDIR, errno.EINVAL):  # a pipe would never end
            why = str(error.strerror).removeprefix("it is ")
            raise FedkinError(f"{file} is {why}: it is no settings file") from None
        return {}  # not there, or not for us
    try:
        read = parse_toml(content.decode("utf-8", "replace"))
    except BadToml as error:
        raise FedkinError(f"{file} is not valid TOML: {error}") from None
    for key, value in read.items():
        if key not in KEYS:
            raise unknown(f"key of {file}", key, KEYS)
        if not isinstance(value, str) or not value:
            raise FedkinError(f"{file}: {key} is the path of a folder, not {value!r}")
    return {key: str(value) for key, value in read.items()}
