"""A number for every row is an identifier."""

from pathlib import Path

import numpy as np

from fedkin.data.quality.identifiers import identifiers
from fedkin.data.quality.parsed_columns import ParsedColumn
from tests.data.tables.findings_examples import found, sentences


def test_a_number_for_every_row_is_an_identifier(tmp_path: Path) -> None:
    rows = [
        f"{'ab'[i % 2]},{1000 - i},{123456780 + i},{i * 7 % 30},{i / 3},{i % 2}" for i in range(60)
    ]
    told = sentences(
        found(tmp_path, "\n".join(["site,id,mrn,age,size,label", *rows]), client="site")
    )
    assert [text.split("'")[1] for text in told if "as identifiers do" in text] == ["id", "mrn"]


def test_a_column_of_sentences_is_text_and_not_a_name(tmp_path: Path) -> None:
    words = [
        "the",
        "room",
        "was",
        "very",
        "good",
        "but",
        "our",
        "bed",
        "was",
        "bad",
        "and",
        "small",
    ]
    rows = [
        f"{'ab'[i % 2]},{' '.join(words[i % 7 :][: 3 + i % 4])} {i},P {i},{i % 2}"
        for i in range(60)
    ]
    told = found(tmp_path, "\n".join(["site,review,ward,label", *rows]), client="site")
    fixes = {problem["columns"][0]: problem for problem in told["problems"] if problem["columns"]}
    assert (fixes["review"]["kind"], fixes["review"]["fix"]) == ("text", {"data.text": ["review"]})
    assert (fixes["ward"]["kind"], fixes["ward"]["fix"]) == ("identifier", {"data.drop": ["ward"]})


def test_a_lone_column_whose_numbers_repeat_is_no_identifier(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{20 + i * 3 % 70},{i // 2 % 2}" for i in range(240)]
    assert sentences(found(tmp_path, "\n".join(["site,age,label", *rows]), client="site")) == []


def test_rows_that_repeat_count_once_whatever_the_sign_of_nothing() -> None:
    """A number for every row of 100, of which each is there twice: with a gap, and with −0."""
    number = np.tile(np.arange(1000.0, 1100.0), 2)
    zero = np.concatenate([np.zeros(100), -np.zeros(100)])
    gap = np.tile([np.nan, 1.5], 100)
    columns = [ParsedColumn("id", number), ParsedColumn("zero", zero), ParsedColumn("gap", gap)]
    found = identifiers(columns)
    assert [one.columns for one in found] == [("id",)]
    assert "another whole number in every row" in found[0].says


def test_numbers_too_long_to_be_told_apart_are_one_fault(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{10**25 + i * 7919},{i * 7 % 30},{i % 2}" for i in range(60)]
    told = found(tmp_path, "\n".join(["site,mrn,age,label", *rows]), client="site")["problems"]
    about = [(one["kind"], one["fix"]) for one in told if one["columns"] == ["mrn"]]
    assert about == [("identifier", {"data.drop": ["mrn"]})]
    assert any("holds whole numbers of 26 digits, too long to" in one["says"] for one in told)
    amounts = ParsedColumn("mass", np.geomspace(1e20, 1e25, 60))
    assert identifiers([amounts]) == []
