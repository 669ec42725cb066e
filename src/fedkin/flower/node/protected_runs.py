"""The protected runs that a node has begun: a list beside their folders, which outlives them.

What was asked in a run stands in its folder. Whoever removes that must not make the run a new one.
"""

from pathlib import Path

from fedkin.core.errors import reason
from fedkin.engine.store import StoreError
from fedkin.flower.node.lines import add_lines

BEGUN = "begun"  # a run a line


def is_begun(folder: Path) -> bool:
    """Whether a run was begun here.

    Args:
        folder: Of the run, in the node's folder of states; it may be gone.

    Returns:
        False where there is no list.

    Raises:
        StoreError: The list cannot be read.
    """
    try:
        return folder.name in (folder.parent / BEGUN).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder.parent / BEGUN} cannot be read: {reason(error)}") from None


def note_begun(folder: Path) -> None:
    """Write down that a run was begun here.

    Args:
        folder: Of the run.

    Raises:
        StoreError: The list cannot be read or written.
    """
    if not is_begun(folder):
        add_lines(folder.parent / BEGUN, [folder.name])
