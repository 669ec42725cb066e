"""docs/architecture.md: its examples run, its files are there, and its picture has every folder."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg
from tests.layers.test_imports import RANKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_examples_are_what_the_page_says() -> None:
    space: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if "\nrun(" not in block:  # tests/website runs that one
            exec(block, space)
    assert isinstance(space["slower"](lr=0.1), Method)
    sent = {"parameters": {"weight": torch.tensor([-3.0, 0.2, 4.0])}}
    work = fedavg(lr=0.1)._replace(client_update=lambda received, own, data: (own, sent))
    changed = space["coordinate_bound"](bound=0.5)(work, None)
    _, message = changed.client_update({}, {}, None)
    assert message["parameters"]["weight"].tolist() == pytest.approx([-0.5, 0.2, 0.5])
    people = SimpleNamespace(infos=dict.fromkeys(range(5)), participation=0.4, min_replies=1)
    schedule = space["round_robin"](work, people)
    assert [schedule.participants(n) for n in (1, 2, 3)] == [[2, 3], [0, 4], [1, 2]]


def test_the_files_are_there() -> None:
    named = re.findall(
        r"`((?:src|tests|docs|scripts|website)/[^`]*|[a-z_]+/[a-z_/]+\.(?:py|cpp))`", PAGE
    )
    assert len(named) > 30
    for name in named:
        if "NAME" not in name:
            own = name.startswith(("src/", "tests/", "docs/", "scripts/", "website/"))
            assert (ROOT / ("" if own else "src/fedkin") / name).exists(), name


def test_the_table_has_every_folder() -> None:
    table = PAGE.partition("| folder | what it holds |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(set(RANKS) - {"__main__"})


def test_every_script_has_its_row() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `scripts/([\w-]+)` \|", text, re.M)
    there = {path.name for path in (ROOT / "scripts").iterdir() if path.is_file()} - {"lib.sh"}
    assert sorted(table) == sorted(there)


def test_the_picture_has_every_folder() -> None:
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    drawn = set(re.findall(r'class="name"[^>]*>(\w+)<', picture))
    assert drawn == set(RANKS) - {"__main__"}, "run scripts/draw-imports"
