"""Public functions say what goes in and comes out; scripts/docstrings sees where they do not."""

import ast
import re
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "docstrings"


@pytest.fixture(scope="module")
def docstrings() -> ModuleType:
    loaded = ModuleType("docstrings")
    loaded.__file__ = str(SCRIPT)
    SourceFileLoader("docstrings", str(SCRIPT)).exec_module(loaded)
    return loaded


TEXT = '''
__all__ = ["Kept", "half"]

def half(x: float, *rest: int, low: int = 0) -> float:
    """Half of it.

    Args:
        x, low: In metres.
        *rest: Whatever
            low: no entry of its own.
        gone: An argument that there was.

    Returns:
        A half.
    """
    if x < low:
        raise ValueError("low")
    return x / 2

def unlisted(x: int) -> int: ...

class Kept:
    """What is kept. Raises ValueError for a negative one.

    Args:
        first: The first.
    """

    def __init__(self, first: int, last: int = 0) -> None: ...

    def plain(self) -> int: ...

    @property
    def size(self) -> int: ...

    def set(self, value: int) -> None:
        """Keep it."""
        def inner() -> None:
            raise ValueError

    def _own(self, value: int) -> None: ...
'''


def test_what_is_lacking(docstrings: ModuleType) -> None:
    found = dict(docstrings.public(ast.parse(TEXT)))
    assert {name: docstrings.lacking(one) for name, one in found.items()} == {
        "half": ["no gone", "Raises"],
        "Kept.__init__": ["last", "no more than its name: first", "Raises"],
        "Kept.plain": ["Returns"],
        "Kept.set": ["value"],
    }
    certified = dict(docstrings.public(ast.parse(TEXT), strict=False))
    assert set(certified) == {"half", "Kept.set"}
    everything = dict(docstrings.public(ast.parse(TEXT.replace("__all__", "names"))))
    assert docstrings.lacking(everything["unlisted"]) == ["x", "Returns"]


def test_the_folders_are_above_their_shares(
    docstrings: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert docstrings.main([]) == 0, capsys.readouterr().out
    assert docstrings.main(["--mising"]) == 2
    monkeypatch.setitem(docstrings.LEAST, "core", 101)
    assert docstrings.main([]) == 1
    assert docstrings.found("data")
    assert docstrings.found("api")


def test_each_folder_has_a_share(docstrings: ModuleType) -> None:
    folders = {one.parent.name for one in docstrings.SOURCE.glob("*/__init__.py")}
    held = {folder.partition("/")[0] for folder in docstrings.LEAST}
    assert folders - held == {"masks", "transforms"}  # certificates hold the digests of their files


def test_every_function_that_the_reference_lists_says_it(
    docstrings: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = docstrings.listed()
    assert any(name.startswith("theory/run_bounds.py") for name in known)
    assert {name: lacks for name, lacks in known.items() if lacks} == {}
    monkeypatch.setattr(docstrings, "listed", lambda: {**known, "one.py:1 bare": ["Returns"]})
    assert docstrings.main([]) == 1


def test_what_packages_export_says_it_wherever_it_is_written(
    docstrings: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = docstrings.exported()
    assert any(name.startswith("sweep/score.py") for name in known)
    assert {name: lacks for name, lacks in known.items() if lacks} == {}
    monkeypatch.setattr(docstrings, "exported", lambda: {**known, "one.py:1 bare": ["Returns"]})
    assert docstrings.main([]) == 1


def test_no_docstring_is_torn_at_an_abbreviation() -> None:
    """A formatter once took the point of an abbreviation for the end of the first sentence."""
    source = SCRIPT.parents[1] / "src" / "fedkin"
    torn = [
        str(path.relative_to(source))
        for path in sorted(source.rglob("*.py"))
        if re.search(r"\b(eq|fig|no|vs)\.\n\n", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert torn == []
