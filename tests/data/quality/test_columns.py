"""Columns that tell nothing."""

from pathlib import Path

from tests.data.tables.findings_examples import found, sentences


def test_columns_that_tell_nothing_and_clients_too_small_are_named(tmp_path: Path) -> None:
    rows = "\n".join(f"{'ab'[i > 1]},{i},id{i},5,,{i % 2}" for i in range(30))
    problems = sentences(found(tmp_path, "site,n,id,five,nothing,label\n" + rows, client="site"))
    for words in (
        "'id' holds 30 different words",
        "'five' holds one value",
        "'nothing' is empty",
        "fewer than 3 samples",
    ):
        assert any(words in text for text in problems), (words, problems)
