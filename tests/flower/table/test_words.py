"""What a raw table had that its inputs do not say is told in the same words everywhere."""

from fedkin.flower.table.words import gaps_in_words, unknown_in_words


def test_gaps_in_words() -> None:
    assert gaps_in_words([]) == ""
    gaps = [{"column": name, "rows": 2000} for name in "abcdefg"]
    assert gaps_in_words(gaps[:1]) == "gaps are filled, in so many rows: a (2,000)"
    assert gaps_in_words(gaps).endswith("e (2,000) and 2 more")


def test_unknown_words() -> None:
    assert unknown_in_words([{"column": "ward", "rows": 1, "words": ["eye"]}]) == [
        "column 'ward': 1 row has words that the file of columns does not: 'eye'"
    ]
