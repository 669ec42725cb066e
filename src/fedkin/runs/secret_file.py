"""The secret of a run whose server adds noise: a file that only its owner can read.

A resumed round draws the same noise from it, so that it tells nothing more than it did. Who holds
the file can subtract the noise: it is not for sharing.
"""

import os
import secrets
import stat
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file, write_secret
from fedkin.core.rng import BYTES, Secret
from fedkin.runs.directory import SECRET, path_in_run


def new_secret(run: Path) -> Secret:
    """A secret for a run that begins, from the system's own source of randomness.

    Args:
        run: The run's folder, which is there.

    Returns:
        The secret, which is in the folder's file "secret", too.
    """
    made = Secret(secrets.token_bytes(BYTES))
    write_secret(path_in_run(run, SECRET), made.key)
    return made


def secret_of(run: Path) -> Secret:
    """The secret of a run that goes on.

    Args:
        run: The run's folder.

    Returns:
        What a resumed round draws the same noise from.

    Raises:
        FedkinError: It is gone, damaged, or readable by others.
    """
    path = path_in_run(run, SECRET)
    if not path.is_file():
        raise FedkinError(
            f"{path} is gone: without it a resumed round would draw other noise, and tell more "
            "than was accounted for: put it back, or start another run"
        )
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise FedkinError(
            f"{path} can be read by others, who could take the noise off: chmod 600 {path}, or "
            "start another run if somebody did"
        )
    content = read_file(path, BYTES)
    if len(content) != BYTES:
        raise FedkinError(f"{path} is damaged: put it back, or start another run")
    return Secret(content)
