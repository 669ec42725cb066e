"""scripts/prose counts what it says, and the documents are within its limits."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "prose"


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
