"""The folder with the data."""

import logging
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.files import typed_path
from fedkin.core.settings.chosen import Setting, data_setting

LOG = logging.getLogger("fedkin")


def data_folder(dir: Path | str | None) -> Path | None:
    """The folder with the data: the argument, else FEDKIN_DATA or .fedkin.toml, else None.

    Args:
        dir: What --data-dir names.

    Returns:
        A folder that is there.

    Raises:
        FedkinError: What is named is no folder.
    """
    chosen = Setting(Path(dir), "--data-dir") if dir is not None else data_setting()
    if chosen is None:
        return None
    folder, whence = typed_path(chosen.folder), chosen.whence
    if not folder.is_dir():
        raise FedkinError(
            f"{whence} names {folder}, which is not a folder: name the folder that holds the "
            "data files"
        )
    LOG.debug("data folder %s, from %s", folder, whence)
    return folder
