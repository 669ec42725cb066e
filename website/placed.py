"""A built site in its folder: a folder that holds anything else is never replaced."""

import shutil
from pathlib import Path

OURS = ("llms.txt", "methods.json")  # what no other site has beside its first page


def replaceable(folder: Path) -> bool:
    """Whether a folder is not there, is empty, or holds a site that was built before."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        return False
    return (
        not folder.exists()
        or not any(folder.iterdir())
        or all((folder / name).is_file() for name in OURS)
    )


def refuse_others(folder: Path) -> None:
    """Raises SystemExit where a folder holds something else than a site."""
    if not replaceable(folder):
        raise SystemExit(
            f"{folder} holds other files, which the site would replace: name a new folder"
        )


def put(built: Path, folder: Path) -> None:
    """Copy a built site into a folder, in place of the site that was there.

    Raises SystemExit where something else is there.
    """
    refuse_others(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(built, folder)
