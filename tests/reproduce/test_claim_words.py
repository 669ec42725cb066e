"""Verdicts and bounds in words."""

from fedkin.reproduce.claim import read_claims
from fedkin.reproduce.claim_runs import JudgedClaim
from fedkin.reproduce.claim_verdict import ONLY, OPEN, Finding
from fedkin.reproduce.claim_words import bound, legend, measured, reached, verdict
from fedkin.reproduce.estimate import Estimate
from tests.reproduce.claim_examples import ONE


def test_a_verdict_says_where_and_a_case_its_bound() -> None:
    first, second = read_claims("p", ONE).claims
    one = JudgedClaim(first, ONLY, ("N3", "N5"), (), (), Estimate(0.0), ())
    assert verdict(one) == f"{ONLY} N3; N5"
    assert verdict(one._replace(verdict=OPEN)).endswith("holds where it was decided (N3; N5)")
    assert verdict(one._replace(verdict=OPEN, where=())) == OPEN
    assert bound(second.cases[0]) == ", at most 1"
    assert bound(first.cases[0]) == ""
    assert measured(Finding(ONLY, -1.25, -12.5, 3.75, 3)) == "-1.25 [-12.5, 3.75]"
    assert measured(Finding(OPEN)) == "–"
    assert reached(Finding(OPEN, why="1 row not run: a")) == "not run"
    assert reached(Finding(OPEN, 1, 0, 2, 3, "seeds disagree")) == "undecided: seeds disagree"
    assert reached(Finding(ONLY, 1, 0, 2, 3)) == ONLY


def test_the_small_scale_says_that_it_is_small() -> None:
    assert "small scale" in " ".join(legend("small"))
    assert "small scale" not in " ".join(legend("full"))
