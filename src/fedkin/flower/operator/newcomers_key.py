"""The key ``newcomers`` in the text of deployment.toml: a name more, and every comment where its
operator wrote it.
"""

import re
from pathlib import Path

import tomli_w

from fedkin.core.errors import FedkinError
from fedkin.core.toml import BadToml, parse_toml

KEY = "newcomers"
LIST = re.compile(rf"^{KEY}[ \t]*=[ \t]*\[[^\]#]*\]", re.MULTILINE)


def with_newcomer(path: Path, name: str) -> str:
    """What a deployment.toml says once a node has been added.

    Args:
        path: The file, which is valid.
        name: The new node's.

    Returns:
        Its text with the name last in ``newcomers``, and nothing else changed.

    Raises:
        FedkinError: The key is written in a way that cannot be extended.
    """
    text = path.read_text(encoding="utf-8")
    before = parse_toml(text)
    names = [*before.get(KEY, []), name]
    entry = tomli_w.dumps({KEY: names}).rstrip("\n")
    if KEY in before:
        changed = LIST.sub(lambda _: entry, text, count=1)
    else:
        changed = f"{text.rstrip()}\n{entry}\n"
    if _content(changed) != {**before, KEY: names}:
        raise FedkinError(
            f"{path}: {KEY} is written in a way that {name} cannot be added to: put it on a line "
            f"of its own, {KEY} = […], without comments between the brackets"
        )
    return changed


def _content(text: str) -> object:
    try:
        return parse_toml(text)
    except BadToml:
        return None
