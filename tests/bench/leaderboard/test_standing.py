"""Where a method stands among all others, in words."""

from statistics import fmean

import pytest

from fedkin.bench.leaderboard.standing import _ordinal, standings
from tests.bench.made_rows import made_rows

DIRICHLET = "Digits, 15 clients, Dirichlet 0.3"


def test_a_method_stands_among_all_that_the_rows_have_but_the_pooled_one() -> None:
    rows = made_rows()
    first, *_ = standings("apfl", rows)
    assert first == (
        f"{DIRICHLET}: apfl is the 1st of 5 methods at equal rounds; client by client it is "
        "not distinguished from local"
    )
    last, *_ = standings("fedavg", rows)
    apfl = [row for row in rows if (row.setting, row.method) == ("digits-dirichlet", "apfl")]
    score = 100 * fmean(row.mean or 0 for row in apfl)
    assert last.startswith(
        f"{DIRICHLET}: fedavg is the 5th of 5 methods at equal rounds; the best, apfl "
        f"({score:.2f} %), is better client by client (p = "
    )
    assert len(standings("apfl", rows)) == 3
    assert standings("fedbn", rows) == []


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (("ditto",), "client by client it is not distinguished from ditto"),
        ((), "no other has rows there"),
    ],
)
def test_who_cannot_be_told_apart_is_said(others: tuple[str, ...], said: str) -> None:
    apfl = [row for row in made_rows() if row.method == "apfl"]
    same = [
        row.model_copy(update={"method": other, "id": f"{other}{row.id}"})
        for row in apfl
        for other in others
    ]
    first, *_ = standings("apfl", [*apfl, *same])
    assert first.endswith(said)
    if others:
        second, *_ = standings("ditto", [*apfl, *same])
        assert "ditto is the 1st of 2" in second  # equal scores share a place
        assert "is not distinguished from it client by client (p = 1)" in second


@pytest.mark.parametrize(
    ("place", "words"), [(1, "1st"), (4, "4th"), (11, "11th"), (12, "12th"), (22, "22nd")]
)
def test_places_are_counted_as_people_do(place: int, words: str) -> None:
    assert _ordinal(place) == words
