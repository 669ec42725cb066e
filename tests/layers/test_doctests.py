"""Examples in docstrings run as they stand."""

import doctest
import importlib

import pytest

from tests.layers.test_imports import FILES, module_of

WITH_EXAMPLES = [module_of(path) for path in FILES if ">>> " in path.read_text(encoding="utf-8")]


def test_there_are_examples() -> None:
    assert "fedkin.core.errors" in WITH_EXAMPLES


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0
