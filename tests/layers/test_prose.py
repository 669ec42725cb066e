"""scripts/prose counts what it says, and the documents are within its limits."""

import re
from importlib.machinery import SourceFileLoader
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "prose"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ITEM = re.compile(r" *(\d+)[.)] ")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    loaded = ModuleType("prose")
    loaded.__file__ = str(SCRIPT)
    SourceFileLoader("prose", str(SCRIPT)).exec_module(loaded)
    return loaded


TEXT = """# A heading is no sentence at all

One two three four. Run `fedkin run --out a.b` now, e.g. here! Is it
wrapped over lines?

- an item of five words
  goes on in a second line

| a table | has no sentences. None |

```bash
fedkin run   # not prose. Not at all
```

    indented code
    of two lines

""" + ("long " * 40)


def test_measures(prose: ModuleType) -> None:
    page = prose.page(TEXT)
    lengths = [len(sentence.split()) for sentence in page.sentences]
    assert lengths == [4, 5, 5, 11, 40]
    assert page.blocks == 2
    assert page.long == [TEXT.count("\n") + 1]
    found = prose.measures([page])
    assert list(found.values()) == [5.0, 20.0, 1.0, pytest.approx(2000 / 65)]


def test_the_documents_are_within_the_limits(
    prose: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prose.main([]) == 0, capsys.readouterr().out
    assert prose.main(["--page"]) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_within_a_paragraph_begins_as_a_list_does(page: Path) -> None:
    """A sentence that ends in a number, and has it at the start of a line, becomes item 500."""
    lines = CODE.sub("", page.read_text(encoding="utf-8")).splitlines()
    for before, line in pairwise(lines):
        number = ITEM.match(line)
        if number and int(number[1]) > 1 and before.strip() and not before.startswith(" "):
            assert ITEM.match(before) is not None, line
