"""Which seeds a mean is of."""

import pytest

from fedkin.report.comparison.experiments.over_seeds import counted


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ([0], "1 (0)"),
        ([1, 0], "2 (0, 1)"),
        ([2, 0, 1], "3 (0–2)"),
        ([0, 1, 3], "3 (0, 1, 3)"),
        (list(range(0, 20, 2)), "10 (0, 2, 4, 6, 8 and 5 more)"),
        (["b", "a"], "2 (a, b)"),
    ],
)
def test_how_many_and_which(seeds: list[object], said: str) -> None:
    assert counted(seeds) == said
