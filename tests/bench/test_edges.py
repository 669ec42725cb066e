"""Rates at the edge of a grid are counted method by method, not seed by seed."""

from benchmarks import edges
from tests.bench.made_rows import made_rows


def test_methods_that_chose_an_end_of_the_grid_are_counted() -> None:
    chosen = {"local": 0.1, "fedavg": 0.1, "ditto": 0.4, "apfl": 0.2}
    tried = [{"hyper": {"lr": rate}, "validation": 0.5} for rate in (0.1, 0.2, 0.4)]
    found = [
        type(row).model_validate(
            row.model_dump() | {"hyper": {"lr": chosen[row.method]}, "trials": tried}
        )
        for row in made_rows()
        if row.method in chosen and not row.missing
    ]
    text = edges.table(found)
    assert len(text.splitlines()) == 2 + 3
    assert text.splitlines()[2].endswith("| 0.1, 0.2, 0.4 | 4 | 1 | 2 | 0.1 | 0.1 |")


def test_a_search_of_one_rate_has_no_edge() -> None:
    one = [{"hyper": {"lr": 0.1}, "validation": 0.5}]
    found = [
        type(row).model_validate(row.model_dump() | {"hyper": {"lr": 0.1}, "trials": one})
        for row in made_rows()
        if not row.missing
    ]
    assert edges.table(found).splitlines()[2].endswith("|  | 0 | 0 | 0 | – | – |")
