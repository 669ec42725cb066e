"""Spellings of one thing, and what only looks like it."""

from pathlib import Path

from fedkin.data.tables.similar_names import similar_names
from tests.data.tables.findings_examples import found, sentences


def test_spellings_of_one_thing_are_told(tmp_path: Path) -> None:
    rows = [
        f"{('H01', 'h01', 'H 2', 'H-02')[i % 4]},{i},{'fF'[i % 2]},{('yes', ' yes', 'no')[i % 3]}"
        for i in range(24)
    ]
    told = sentences(found(tmp_path, "\n".join(["site,n,sex,label", *rows]), client="site"))
    assert any(
        "labels that differ" in text and "' yes' and 'yes'" in text and "data.unify" in text
        for text in told
    )
    assert any(
        "clients that differ" in text and "'H 2' and 'H-02'; 'H01' and 'h01'" in text
        for text in told
    )
    assert any(
        "values of column 'sex' that differ" in text and "'F' and 'f'" in text for text in told
    )


def test_what_is_different_is_not_told_to_be_alike() -> None:
    assert similar_names(["A-", "A+", "1.05", "1.5", "0", "10", "-1", "1", "ab", "a b"]) == []
    assert similar_names(["site 1", "site_01", "007", "7"]) == [["site 1", "site_01"], ["007", "7"]]
