"""Several searches of one method in one file, and settings that were changed since."""

import pytest

from fedkin.bench.latest_searches import OTHER_SETTING, latest_searches
from fedkin.bench.leaderboard.entries import entries
from fedkin.bench.leaderboard.page import page
from fedkin.bench.row import Row
from tests.bench.test_verify import a_row


def rows_with(case: str, method: str, mean: float, **changes: object) -> list[Row]:
    return [
        a_row(id=f"{case}{seed}", case=case, method=method, seed=seed, mean=mean, of=2, **changes)
        for seed in (0, 1)
    ]


def other(method: str) -> dict[str, object]:
    """A specification with another model."""
    content = a_row().content
    return {**content, "method": {"name": method}, "model": {"name": "dnn"}}


def test_a_methods_last_search_counts() -> None:
    rows = [*rows_with("a", "local", 0.5), *rows_with("b", "mine", 0.6)]
    rows += rows_with("c", "mine", 0.1)
    (mine,) = [one for one in entries(latest_searches(rows)) if one.method == "mine"]
    assert mine.mean == 0.1
    assert mine.seeds == (0, 1)
    assert "4 rows, " in page(rows)
    assert "2 rows of earlier searches are left out: a method&#x27;s last one counts" in page(rows)
    assert "earlier searches" not in page(rows[:4])


def test_what_a_search_chooses_makes_no_other_setting() -> None:
    content = a_row().content
    changed = {**content, "train": {**content.get("train", {}), "lr": 7.0}}
    changed["run"] = {**content["run"], "seed": 9, "rounds": 77}
    rows = [*rows_with("a", "local", 0.5), *rows_with("b", "ditto", 0.6, content=changed)]
    assert latest_searches(rows) == rows


def test_a_method_of_another_setting_is_told_not_shown() -> None:
    rows = [*rows_with("a", "local", 0.5), *rows_with("b", "fedavg", 0.7)]
    again = rows_with("c", "local", 0.4, content=other("local"))
    found = latest_searches([*rows, *again])
    assert [(row.method, row.missing) for row in found] == [
        ("fedavg", OTHER_SETTING),
        ("local", ""),
        ("local", ""),
    ]
    assert {one.method for one in entries(found)} == {"local"}
    assert OTHER_SETTING in page([*rows, *again])


def tries(rates: list[float], own: int = 1) -> tuple[dict[str, object], ...]:
    return tuple({"hyper": {"lr": lr, "k": k}} for k in range(own) for lr in rates)


LOCAL = {"rounds": 10, "trials": tries([0.1, 0.2])}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rounds": 20}, "its rows have other rounds than those of local (20, not 10)"),
        ({"seed": 5}, "its rows have other seeds than those of local (1, 5, not 0, 1)"),
        (
            {"trials": tries([0.1, 0.3])},
            "other rates than those of local (0.1, 0.3, not 0.1,",
        ),
        ({"trials": tries([0.1])}, "other rates than those of local (0.1, not 0.1, 0.2)"),
        ({"trials_allowed": 6}, "its search had 6 trials where that of local had 3"),
    ],
)
def test_a_method_of_other_rounds_seeds_rates_or_trials_is_told_not_shown(
    change: dict[str, object], said: str
) -> None:
    local = rows_with("a", "local", 0.5, **LOCAL, trials_allowed=3)
    told = {**LOCAL, "trials_allowed": 3, **change}
    first, second = rows_with("b", "ditto", 0.6, **{k: v for k, v in told.items() if k != "seed"})
    changed = [first.model_copy(update={"seed": told.get("seed", 0)}), second]
    found = latest_searches([*local, *changed])
    assert found[:2] == local
    (one,) = found[2:]
    assert said in one.missing
    assert (one.method, one.budgets) == ("ditto", ())


def test_what_a_method_has_of_its_own_to_try_makes_no_other_search() -> None:
    rows = rows_with("a", "local", 0.5, **LOCAL)
    rows += rows_with("b", "ditto", 0.6, **{**LOCAL, "trials": tries([0.1, 0.2], own=2)})
    fewer = rows_with("c", "ditto", 0.6, **LOCAL, trials_allowed=3)  # of before that was told
    shorter = rows_with("b", "ditto", 0.6, **{**LOCAL, "rounds": 5}, budgets=("compute",))
    assert latest_searches(rows) == rows
    assert latest_searches([*rows[:2], *fewer]) == [*rows[:2], *fewer]
    assert latest_searches([*rows, *shorter]) == [*rows, *shorter]


def test_a_strangers_row_may_hold_anything() -> None:
    rows = rows_with("a", "local", 0.5, content={**a_row().content, "run": 7})
    assert latest_searches(rows) == rows
