"""TOML of strangers: parsed, or refused with one line."""

import pytest

from fedkin.core.toml import LARGEST, BadToml, not_finite, parse_toml


def test_a_document_keeps_its_order() -> None:
    assert list(parse_toml("b = 1\na = [2, 'x']\n[z]\nk.l = true")) == ["b", "a", "z"]
    assert parse_toml('"a.b".c = 1') == {"a.b": {"c": 1}}
    assert parse_toml(f"a = [{-(2**63)}, {2**63 - 1}]") == {"a": [-(2**63), 2**63 - 1]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#" * (LARGEST + 1), "longer than"),
        (".".join("a" * 70) + " = 1", "more than 64 parts"),
        ("a = " + "[" * 5000, "nested too deep"),
        ("a = " + "9" * 5000, "^a number in it has thousands of digits$"),
        ("[a]\nb.c = [1, [0x" + "f" * 10_000 + "]]", "^a.b.c has more than 64 bits$"),
        (f"a = {-(2**63) - 1}", "^a has more than 64 bits$"),
        (f"a = {2**63}", "^a has more than 64 bits$"),
        ("a = \nb", "line 1"),
    ],
    ids=["long", "parts", "deep", "digits", "hexadecimal", "below", "above", "broken"],
)
def test_what_is_refused_is_told_in_one_line(text: str, said: str) -> None:
    with pytest.raises(BadToml, match=said) as told:
        parse_toml(text)
    assert "\n" not in str(told.value)


def test_a_number_that_is_none_is_found_by_its_key() -> None:
    assert not_finite(parse_toml("a.b = [1.5, {c = [inf]}]")) == "a.b.c"
    assert not_finite(parse_toml("a = nan")) == "a"
    assert not_finite(parse_toml("a = [1e308, 2, 'nan', true]")) is None
