"""Client against client: the chart is tested among those of a comparison, its places here."""

import pytest

from fedkin.report.charts.two_runs import _places


@pytest.mark.parametrize("measure", ["accuracy", "log_loss"])
def test_who_is_helped_is_told_by_places_and_not_by_rounded_values(measure: str) -> None:
    """Values that differ in the sixth digit do; in the last bit they do not. Places are whole."""
    assert _places([0.1 + 0.2, None, 0.3, 0.5, 0.500001], measure) == (
        [0, None, 0, 1, 2] if measure == "accuracy" else [2, None, 2, 1, 0]
    )
    assert _places([None, None], measure) == [None, None]
