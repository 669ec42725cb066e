"""``fedkin deploy check``: on a node, before any server asks."""

from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli.options import AsJson
from fedkin.cli.talk.flower_extra import need_extra

Node = Annotated[Path, typer.Argument(metavar="DIR", help="Node folder.", show_default=False)]


def check(folder: Node, as_json: AsJson = False) -> None:
    """On a node: read its data by the node's own rules, and say what a run would have of them."""
    need_extra()
    from fedkin.cli.talk.node_data import tell
    from fedkin.core.system.own_code import find_own_code
    from fedkin.flower.node.checked import checked

    find_own_code()
    tell(checked(folder), as_json)
