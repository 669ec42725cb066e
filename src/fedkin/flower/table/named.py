"""The name of a node's file of data in its ``node.toml``."""

import re
from pathlib import Path

from fedkin.core.errors import FedkinError, reason
from fedkin.core.files import write_file
from fedkin.flower.config import NODE, NodeConfig

LINE = re.compile(r'^data = "[^"\\\n]*"', re.MULTILINE)  # as ``fedkin deploy init`` writes it


def name_data(folder: Path, node: NodeConfig, target: Path) -> list[str]:
    """Have ``node.toml`` name the file that was prepared, where what it names is not there.

    Args:
        folder: Of the node.
        node: What its ``node.toml`` holds.
        target: The file that was prepared.

    Returns:
        What a person should know: that a line was changed, or has to be. Nothing where the file is
        named already.

    Raises:
        FedkinError: ``node.toml`` cannot be written.
    """
    if node.data is not None and Path(node.data).name == target.name:
        return []
    file = folder / NODE
    text = file.read_text(encoding="utf-8")
    wanted = f'data = "{target.name}"'
    if node.data is None or (folder / node.data).exists() or len(LINE.findall(text)) != 1:
        return [f"{NODE} names another file: write {wanted} there"]
    try:
        write_file(file, LINE.sub(wanted, text).encode())
    except OSError as error:
        raise FedkinError(f"{file} cannot be written: {reason(error)}") from None
    return [f"{NODE} now names {target.name}; {node.data}, which it named before, is not there"]
