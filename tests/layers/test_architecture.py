"""docs/architecture.md: its examples run, its files are there, and its picture has every folder."""

import re
from pathlib import Path
from typing import Any

from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg
from tests.layers.test_imports import RANKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_examples_are_methods() -> None:
    space: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, space)
    changed = space["twice"](fedavg(lr=0.1))
    assert isinstance(space["slower"](lr=0.1), Method)
    assert changed.client_update.__qualname__.startswith("twice")
    work = fedavg(lr=0.1)._replace(client_update=lambda received, own, data: (own + 1, own))
    assert space["twice"](work).client_update({}, 0, None) == (2, 1)


def test_the_files_are_there() -> None:
    named = re.findall(
        r"`((?:src|tests|docs|scripts|website)/[^`]*|[a-z_]+/[a-z_/]+\.(?:py|cpp))`", PAGE
    )
    assert len(named) > 30
    for name in named:
        if "NAME" not in name:
            own = name.startswith(("src/", "tests/", "docs/", "scripts/", "website/"))
            assert (ROOT / ("" if own else "src/fedkin") / name).exists(), name


def test_the_picture_has_every_folder() -> None:
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    drawn = set(re.findall(r'class="name"[^>]*>(\w+)<', picture))
    assert drawn == set(RANKS) - {"__main__"}, "run scripts/draw-imports"
