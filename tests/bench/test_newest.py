"""Several searches of one method in one file, and settings that were changed since."""

from fedkin.bench.board import entries
from fedkin.bench.newest import ELSEWHERE, newest
from fedkin.bench.page import page
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
    (mine,) = [one for one in entries(newest(rows)) if one.method == "mine"]
    assert mine.mean == 0.1
    assert mine.seeds == (0, 1)


def test_what_a_search_chooses_makes_no_other_setting() -> None:
    content = a_row().content
    changed = {**content, "train": {**content.get("train", {}), "lr": 7.0}}
    changed["run"] = {**content["run"], "seed": 9, "rounds": 77}
    rows = [*rows_with("a", "local", 0.5), *rows_with("b", "ditto", 0.6, content=changed)]
    assert newest(rows) == rows


def test_a_method_of_another_setting_is_told_not_shown() -> None:
    rows = [*rows_with("a", "local", 0.5), *rows_with("b", "fedavg", 0.7)]
    again = rows_with("c", "local", 0.4, content=other("local"))
    found = newest([*rows, *again])
    assert [(row.method, row.missing) for row in found] == [
        ("fedavg", ELSEWHERE),
        ("local", ""),
        ("local", ""),
    ]
    assert {one.method for one in entries(found)} == {"local"}
    assert ELSEWHERE in page([*rows, *again])


def test_a_strangers_row_may_hold_anything() -> None:
    rows = rows_with("a", "local", 0.5, content={**a_row().content, "run": 7})
    assert newest(rows) == rows
