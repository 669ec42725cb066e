"""A fault, its sentence and its fix in TOML."""

import shlex
import tomllib

import pytest

from fedkin.data.quality.problem import (
    Problem,
    Unreadable,
    merged,
    toml_key,
    toml_literal,
    typed_setting,
)
from fedkin.setup.arguments.options import setting

DROP = Problem("leak", "column 'x' tells it", "leave it out", {"data.drop": ["x"]}, 0.5, ("x",))


def test_the_sentence_ends_with_what_is_typed() -> None:
    assert DROP.sentence == "column 'x' tells it: leave it out (data.drop=[\"x\"])"
    assert DROP._replace(fix={}).sentence == "column 'x' tells it: leave it out"
    assert DROP.plain()["sentence"] == DROP.sentence
    assert DROP.plain()["columns"] == ["x"]


@pytest.mark.parametrize(
    "value",
    [["ü", 'a"b'], {"age in years": [-1, 2.5]}, {"plain-key": {"in it": True}}, "two\nlines"],
)
def test_a_literal_is_toml_of_the_same_value(value: object) -> None:
    assert tomllib.loads(f"key = {toml_literal(value)}") == {"key": value}


@pytest.mark.parametrize(
    "value",
    [
        "drop",
        "2",
        "true",
        "'",
        " a",
        'height "cm"',
        "it's",
        "[x]",
        "",
        ["it's", 'a"b'],
        {"a b": [1]},
    ],
)
def test_a_setting_comes_back_from_the_shell(value: object) -> None:
    option, word = shlex.split(typed_setting("data.label", value))
    assert (option, setting(word)) == ("--set", ("data.label", value))


@pytest.mark.parametrize(("name", "written"), [("a-b_1", "a-b_1"), ("", '""'), ("ä", '"ä"')])
def test_keys_have_quotes_where_they_need_them(name: str, written: str) -> None:
    assert toml_key(name) == written


def test_fixes_are_joined_deeply() -> None:
    found = merged([{"m": {"a": [1]}, "d": ["x"]}, {"m": {"a": [2], "b": [3]}, "d": ["x", "y"]}])
    assert found == {"m": {"a": [1, 2], "b": [3]}, "d": ["x", "y"]}


def test_one_is_told_and_the_others_are_counted() -> None:
    assert str(Unreadable([DROP])) == DROP.sentence
    assert str(Unreadable([DROP, DROP, DROP])).endswith(
        "; and 2 columns more like it: fedkin data check names all"
    )
