"""Wilcoxon's signed-rank test: by hand, and beside scipy's."""

import math

import numpy as np
import pytest
from scipy.stats import wilcoxon

from fedkin.report.comparison.signed_rank import signed_rank


def test_signed_rank_by_hand() -> None:
    # All n differences on one side: of 2^n signs two are as extreme: p = 2 / 2^n. Zeros are left
    # out.
    assert signed_rank(np.array([0.1, 0.2, 0.3])) == 2 / 8
    assert signed_rank(np.array([-0.1, -0.2, -0.3, 0.0, -0.5, -0.7])) == 2 / 32
    # Ranks 1, 2, 3 with signs −, +, +: W = min(1, 5) = 1; signs with a smaller side ≤ 1: {}, {1} on
    # either side: 4 / 8.
    assert signed_rank(np.array([-0.1, 0.2, 0.3])) == 4 / 8
    # Ranks 1.5, 1.5, 3: the sums of {}, {1}, {2} and their opposites are as extreme as 1.5: 6 / 8.
    assert signed_rank(np.array([-0.1, 0.1, 0.3])) == 6 / 8
    assert signed_rank(np.array([0.0, 0.0])) == 1.0
    assert signed_rank(np.array([])) is None
    assert math.isnan(signed_rank(np.array([math.nan, 1.0])) or 0.0)


@pytest.mark.rotating
@pytest.mark.parametrize("steps", [0, 2, 7], ids=["untied", "many ties", "few ties"])
def test_it_is_scipys(steps: int) -> None:
    """Exact for up to 50 untied and 13 tied ones, normal above, whatever side they lean to."""
    rng = np.random.default_rng(steps)
    for count in (1, 2, 3, 7, 12, 13, 14, 25, 49, 50, 51, 400):
        for shift in (-0.4, 0.0, 0.3):
            apart = rng.normal(size=count) + shift
            if steps:
                apart = np.round(apart * steps) / steps
            rest = apart[apart != 0]
            if len(rest):
                theirs = float(wilcoxon(rest).pvalue)
                assert signed_rank(apart) == pytest.approx(theirs, rel=1e-9), (count, shift)
