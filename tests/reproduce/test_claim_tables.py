"""The rows of the tables of claims, of both pages."""

from fedkin.reproduce.claim import read_claims
from fedkin.reproduce.claim_runs import CaseDetails, JudgedClaim
from fedkin.reproduce.claim_tables import AGAINST, against, by_paper, by_paper_at_papers_scale, lead
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
        details = (CaseDetails("", (), (), full),) * many
        cost = Estimate(0.0, False)
        found.append(JudgedClaim(claim, verdict, (), (small,) * many, (), cost, details))
    cases = sum(len(claim.cases) for claim in register.claims)
    paper = register.claims[0].paper
    assert by_paper(register, found) == [[paper, 2, 1, 0, 0, 1], ["all", 2, 1, 0, 0, 1]]
    there = by_paper_at_papers_scale(register, found)
    assert there == [[paper, 2, 2, 0, 0, 2, 0, cases], ["all", 2, 2, 0, 0, 2, 0, cases]]
    lines = against(found)
    assert len(lines) == cases
    assert all(len(line) == len(AGAINST) for line in lines)
    assert lines[0][3:] == ["-1, -2, -3 (mean -2)", "does not hold under any seed"]


def test_the_sentence_at_the_top_counts_what_the_tables_do() -> None:
    claims = read_claims("p", ONE).claims
    cost, small = Estimate(0.0, False), Finding(HOLDS, 1.0, 0.5, 1.5, 3)
    full = Finding(FAILS, -2.0, seeds=3, means=(-1, -2, -3))

    def judged(verdict: str, details: CaseDetails) -> list[JudgedClaim]:
        return [
            JudgedClaim(
                claim,
                verdict,
                (),
                (small,) * len(claim.cases),
                (),
                cost,
                (details,) * len(claim.cases),
            )
            for claim in claims
        ]

    lacks, whole = CaseDetails("", ("a-row",), ()), CaseDetails("", (), ())
    found = [*judged(OPEN, lacks), *judged(OPEN, whole), *judged(HOLDS, lacks)]
    assert lead(found, "small") == (
        "At the small scale 2 of 6 claims hold, 0 hold only in the cases that are named, 0 do not "
        "hold, and 4 are undecided, 2 of these for lack of runs."
    )
    assert lead(judged(FAILS, whole._replace(full=full)), "small").endswith(
        "2 do not hold, and 0 are undecided. At the papers' scale 2 of them are told, 2 in every "
        "case: there 0 hold, 0 hold only in some cases, 2 do not hold, and 0 are undecided."
    )
    assert lead(found, "full").startswith("At the papers' scale 2 of 6 claims hold")
