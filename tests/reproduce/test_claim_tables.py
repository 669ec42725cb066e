"""The rows of the tables of claims, of both pages."""

from fedkin.reproduce.claim import read_claims
from fedkin.reproduce.claim_runs import About, Judged
from fedkin.reproduce.claim_tables import AGAINST, against, by_paper, by_paper_there
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, OPEN, Finding
from fedkin.reproduce.estimate import Estimate
from tests.reproduce.claim_examples import ONE


def test_rows_are_of_each_paper_and_of_all() -> None:
    register = read_claims("p", ONE)
    small, full = (
        Finding(HOLDS, 1.0, 0.5, 1.5, 3),
        Finding(FAILS, -2.0, seeds=3, means=(-1, -2, -3)),
    )
    found = []
    for claim, verdict in zip(register.claims, (HOLDS, OPEN), strict=True):
        many = len(claim.cases)
        about = (About("", (), (), full),) * many
        cost = Estimate(0.0, False)
        found.append(Judged(claim, verdict, (), (small,) * many, (), cost, about))
    cases = sum(len(claim.cases) for claim in register.claims)
    paper = register.claims[0].paper
    assert by_paper(register, found) == [[paper, 2, 1, 0, 0, 1], ["all", 2, 1, 0, 0, 1]]
    there = by_paper_there(register, found)
    assert there == [[paper, 2, 2, 0, 0, 2, 0, cases], ["all", 2, 2, 0, 0, 2, 0, cases]]
    lines = against(found)
    assert len(lines) == cases
    assert all(len(line) == len(AGAINST) for line in lines)
    assert lines[0][3:] == ["-1, -2, -3 (mean -2)", "does not hold under any seed"]
