"""Two names for one thing share no place in the ranks, and the tables say so."""

from typing import Any

import pytest

from fedkin.bench.leaderboard.entries import entries
from fedkin.bench.leaderboard.markdown import markdown, notes
from fedkin.bench.leaderboard.page import page
from fedkin.bench.leaderboard.ranking import mean_ranks
from fedkin.bench.leaderboard.twins import twins_of, unranked_notes
from fedkin.bench.row import Row
from tests.bench.made_rows import made_rows

ROWS = made_rows()
SAID = "fedsim did what apfl did, but for rounding, and has no rank of its own."


def with_copy(**changes: Any) -> list[Row]:
    """The rows, and those of apfl under the name of fedsim, in another order of the seeds."""
    copies = [
        row.model_copy(update={"method": "fedsim", "id": f"0{row.id[1:]}", **changes})
        for row in reversed(ROWS)
        if row.method == "apfl"
    ]
    return [*ROWS, *copies]


def test_a_copy_has_no_rank_and_moves_nobodys() -> None:
    rows = with_copy()
    assert twins_of(entries(rows)) == {"fedsim": "apfl"}
    assert twins_of(entries(ROWS)) == {}
    for budget in ("rounds", "bytes", "compute"):
        assert mean_ranks(entries(rows), budget) == mean_ranks(entries(ROWS), budget)


@pytest.mark.parametrize("changes", [{"flops": 7}, {"mean": 0.8}, {"hurt": 0.01}])
def test_whoever_differs_in_one_number_has_a_rank(changes: dict[str, float]) -> None:
    rows = with_copy(**changes)
    assert twins_of(entries(rows)) == {}
    assert "fedsim" in mean_ranks(entries(rows), "rounds")


def test_the_rounding_of_another_processor_makes_no_other_method() -> None:
    def moved(by: float) -> list[Row]:
        return [
            row.model_copy(update={"mean": row.mean * (1 + by)}) if row.method == "fedsim" else row
            for row in with_copy()
        ]

    assert twins_of(entries(moved(4e-8))) == {"fedsim": "apfl"}
    assert twins_of(entries(moved(1e-4))) == {}


def test_a_copy_with_fewer_federations_is_one_and_with_others_is_none() -> None:
    fewer = [row for row in with_copy() if (row.method, row.setting) != ("fedsim", "har")]
    assert twins_of(entries(fewer)) == {"fedsim": "apfl"}
    swapped = [row for row in with_copy() if (row.method, row.setting) != ("apfl", "har")]
    assert twins_of(entries(swapped)) == {"apfl": "fedsim"}


def test_tables_and_page_say_who_it_is() -> None:
    rows = with_copy()
    assert unranked_notes(twins_of(entries(rows))) == SAID
    assert SAID in " ".join(notes(rows).split())
    assert SAID in page(rows)
    assert SAID not in page(ROWS)
    (line,) = (one for one in markdown(rows).splitlines() if one.startswith("| fedsim |"))
    assert line.startswith("| fedsim | – | – | – |")
