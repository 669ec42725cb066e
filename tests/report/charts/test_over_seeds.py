"""Means over seeds: of the rounds that all of them evaluated."""

from types import SimpleNamespace
from typing import Any

import pytest

from fedkin.report.charts.over_seeds import mean_rows, spread


def line(run: str, *rounds: int, finish: int = 0) -> list[dict[str, Any]]:
    of_run = {"run": run, "like": run, "method": "m", "state": "finished", "before": None}
    return [
        {**of_run, "round": at, "seconds": 2.0 * at, "value": at / 10, "finish": at == finish}
        for at in rounds
    ]


def group(*names: str) -> Any:
    return [SimpleNamespace(name=name) for name in names]


def test_a_mean_is_of_the_rounds_that_all_seeds_evaluated() -> None:
    rows = [*line("a0", 1, 2, 3, 4), *line("a1", 2, 4), *line("b0", 1, 2)]
    found, note = mean_rows(rows, {"a": group("a0", "a1"), "b": group("b0")})
    assert [(row["run"], row["round"]) for row in found] == [
        ("a", 2),
        ("a", 4),
        ("b", 1),
        ("b", 2),
    ]
    assert note == " Means are of the rounds that all seeds evaluated: a 2 of 4."
    assert "low" not in found[-1]


def test_a_shorter_seed_ends_the_mean_and_its_finish_is_no_round_of_the_others() -> None:
    rows = [*line("a0", 1, 2, 3, finish=3), *line("a1", 1, 2, 3, 4, finish=4)]
    found, note = mean_rows(rows, {"a": group("a0", "a1")})
    assert [row["round"] for row in found] == [1, 2]
    assert note.endswith("a 2 of 4.")


def test_seeds_without_rounds_in_common_stay_as_they_are() -> None:
    rows = [*line("a0", 1, 3), *line("a1", 2, 4), *line("half", 1)]
    found, note = mean_rows(rows, {"a": group("a0", "a1")})
    assert [(row["run"], row["like"]) for row in found] == [
        *[("a0", "a")] * 2,
        *[("a1", "a")] * 2,
        ("half", "half"),
    ]
    assert note == " Seed by seed, for want of such rounds: a."


def test_the_band_is_a_sample_standard_deviation() -> None:
    assert spread([0.1, 0.3]) == pytest.approx(
        {"value": 0.2, "seeds": 2, "low": 0.2 - 0.02**0.5, "high": 0.2 + 0.02**0.5}, abs=1e-4
    )
    assert spread([0.1]) == {"value": 0.1, "seeds": 1}
