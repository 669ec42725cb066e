"""What the record says of an exception that no check foresaw."""

import json

import torch

from fedkin.core.tree import add
from fedkin.engine.method_calls.errors import error_text


def told(work):
    try:
        work()
    except Exception as error:
        return error_text(error)
    raise AssertionError("it was to fail")


def test_the_line_of_the_authors_own_file_is_named():
    line = told.__code__.co_firstlineno  # of this file, above the next lines

    def work():
        return {}["params"]

    assert told(work) == f"KeyError: 'params' (test_errors.py, line {line + 12})"


def test_it_is_the_last_one_outside_of_fedkin_and_libraries():
    for work in (
        lambda: torch.nn.functional.linear(torch.ones(1, 2), torch.ones(1, 3)),
        lambda: json.loads("no JSON"),
        lambda: add({"a": torch.ones(1)}, {"b": torch.ones(1)}),
    ):
        assert f"(test_errors.py, line {work.__code__.co_firstlineno})" in told(work)


def test_of_fedkins_own_methods_there_is_no_place():
    assert error_text(ValueError("no place")) == "ValueError: no place"


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("it cannot be said")


def test_an_exception_that_says_nothing_or_no_text_ends_no_run():
    assert error_text(Mute()) == "Mute"
    assert error_text(FileNotFoundError("\udcff.csv")) == "FileNotFoundError: \\udcff.csv"
