"""What is public is declared: the modules of the reference say it in ``__all__``."""

import ast
import importlib
import inspect
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fedkin
from website.api_pages import public

MODULES = [module for group in public().values() for module in group]
SOURCE = Path(fedkin.__file__).parent


def undocumented(module: object, names: list[str]) -> list[str]:
    """Functions and classes among ``names`` of a module that have no docstring of their own."""
    found = [(name, getattr(module, name)) for name in names]
    return [
        name
        for name, one in found
        if (inspect.isfunction(one) or inspect.isclass(one)) and not written(one)
    ]


def written(one: Any) -> str | None:
    """The docstring in the source: at run time a NamedTuple has one that nobody wrote."""
    source = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
    assert isinstance(source, ast.FunctionDef | ast.ClassDef)
    return ast.get_docstring(source)


@pytest.mark.parametrize("name", ["fedkin", *MODULES])
def test_a_public_module_says_what_is_public_in_it(name: str) -> None:
    module = importlib.import_module(name)
    names = module.__all__
    assert len(set(names)) == len(names) > 0
    assert [one for one in names if one.startswith("_") or not hasattr(module, one)] == []
    assert undocumented(module, names) == []


def private_names(text: str) -> list[str]:
    """``_names`` of fedkin's modules that a file imports."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedkin")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]


def test_no_module_imports_what_is_private_to_another() -> None:
    found = {
        str(path.relative_to(SOURCE)): names
        for path in sorted(SOURCE.rglob("*.py"))
        if (names := private_names(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_the_test_sees_both() -> None:
    assert private_names("from fedkin.core.tree import _x, add") == ["fedkin.core.tree._x"]

    class Bare:
        def without(self) -> None: ...

        class Generated(NamedTuple):
            x: int

    assert undocumented(Bare, ["without", "Generated"]) == ["without", "Generated"]
