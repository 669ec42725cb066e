"""Strings of strangers on their way to a terminal, a page, a table."""

import json

import pytest

from fedkin.core.escaping import as_json, cell, markdown, plain, plain_lines, plain_values

BAD = "a\x1b[2J\u202eb\r\nc\u200bd"


def test_what_a_terminal_obeys_is_shown_by_its_number() -> None:
    assert plain(BAD) == "a\\x1b[2J\\u202eb  c\\u200bd"
    assert plain("Zürich 東京 −3") == "Zürich 東京 −3"
    assert plain_lines("a\tb\n\x07") == "a\tb\n\\x07"


def test_json_has_the_same_value_without_a_command_in_it() -> None:
    text = json.dumps({"k": BAD}, ensure_ascii=False)
    assert json.loads(as_json(text)) == {"k": BAD}
    assert "\u202e" not in as_json(text)


def test_every_string_of_a_value_and_every_key() -> None:
    found = plain_values({BAD: [BAD, 3, {"k": None}]})
    assert found == {plain(BAD): [plain(BAD), 3, {"k": None}]}


def test_a_page_has_no_tag_and_no_link_of_a_name() -> None:
    assert markdown("<b>[a](http://c)[d][e]") == "&lt;b>[a]\\(http:\\//c)[d]\\[e]"
    assert markdown("https://a.b and www.c.d") == "https:\\//a.b and www\\.c.d"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "@x", "-x", "  =2", "-1e"])
def test_a_formula_begins_with_a_quote(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-3.5", "+1e-9", "-inf", ".5", "plain", "nan"])
def test_numbers_and_words_stay(text: str) -> None:
    assert cell(text) == text
