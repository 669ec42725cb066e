"""Terms of secure aggregation."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.masks.terms import Terms, check_terms, direction, pairing


def test_terms_that_protect_nobody_are_refused() -> None:
    for threshold, clients, why in (
        (2, 2, "3 participants"),
        (8, 7, "above the 7 participants of a round: take 5"),
        (3, 6, "above half of the 6"),
        (0, 6, "above half"),
        (2, 3, "is 2, and must be 3 or more"),  # whoever drops out leaves two
        (6000, 10_001, "at most 10,000"),
    ):
        with pytest.raises(FedkinError, match=why):
            check_terms(Terms(1, threshold, 1), clients)
    with pytest.raises(FedkinError, match="at most 268,435,456 numbers, not 268,435,457"):
        check_terms(Terms(1, 4, 2**28 + 1), 7)
    check_terms(Terms(1, 4, 2**28), 7)


def test_a_key_is_for_one_round_and_a_direction_or_a_pair() -> None:
    assert len({direction(7, 1, 2), direction(7, 2, 1), direction(8, 1, 2), pairing(7, 1, 2)}) == 4
    assert pairing(7, 1, 2) == pairing(7, 2, 1) != pairing(8, 1, 2)
    assert len({pairing(7, 1, 2), pairing(7, 1, 3), pairing(7, 2, 3)}) == 3
