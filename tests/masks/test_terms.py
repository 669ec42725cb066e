"""Terms of secure aggregation."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.masks.terms import Terms, check_terms


def test_terms_that_protect_nobody_are_refused() -> None:
    for threshold, clients, why in (
        (2, 2, "3 participants"),
        (8, 7, "above the 7 participants of a round: take 5"),
        (3, 6, "above half of the 6"),
        (0, 6, "above half"),
        (6000, 10_001, "at most 10,000"),
    ):
        with pytest.raises(FedkinError, match=why):
            check_terms(Terms(1, threshold, 1), clients)
    check_terms(Terms(1, 4, 1), 7)
