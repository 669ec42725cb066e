"""Verdicts on made-up numbers: which side an interval is on, boundaries, seeds that disagree,
several cases.
"""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from fedkin.report.intervals import over_seeds_and_clients
from fedkin.reproduce.claim import Case, Claim
from fedkin.reproduce.claim_verdict import (
    FAILS,
    HOLDS,
    ONLY,
    OPEN,
    Finding,
    Values,
    judge,
    verdict_of,
)

CLIENTS = 7


def seeds(*means: float, spread: float = 0.0, clients: int = CLIENTS) -> Values:
    """One mapping a seed, whose clients lie evenly and lopsidedly around the mean."""
    around = spread * (np.arange(clients) ** 1.5 - (np.arange(clients) ** 1.5).mean())
    return [{f"c{k}": mean + float(around[k]) for k in range(clients)} for mean in means]


def whole(*values: float) -> Values:
    return [{"": value} for value in values]


def case(kind: str, measure: str = "accuracy", direction: str = "up", **keys: object) -> Case:
    bounds = {k: float(v) for k, v in keys.items() if isinstance(v, int | float)}
    rows = {
        k: (v,) if isinstance(v, str) else tuple(v)
        for k, v in keys.items()
        if isinstance(v, str | list)
    }
    return Case("", kind, measure, rows, bounds, direction)


ABOVE = case("above", high="a", low="b")


def test_above_needs_every_seed_and_the_whole_interval() -> None:
    low = seeds(50, 60, 55)
    assert judge(ABOVE, {"a": seeds(53, 63, 59), "b": low}).verdict == HOLDS
    assert judge(ABOVE, {"a": seeds(47, 56, 52), "b": low}).verdict == FAILS
    found = judge(
        ABOVE, {"a": seeds(49.9, 80, 80), "b": low}
    )  # one seed is below, whatever the mean
    assert (found.verdict, found.effect) == (OPEN, pytest.approx((-0.1 + 20 + 25) / 3))
    five = {"a": seeds(-0.1, 9, 9, 9, 9), "b": seeds(0, 0, 0, 0, 0)}
    found = judge(ABOVE, five)
    assert (found.verdict, found.low > 0, found.why) == (OPEN, True, "seeds disagree")
    assert judge(ABOVE, {"a": five["b"], "b": five["a"]}).why == "seeds disagree"
    near = {"a": seeds(*(mean - 1e-6 for mean in (50, 60, 55))), "b": low}
    assert judge(ABOVE, near).verdict == FAILS
    unsure = {"a": seeds(51, 61, 57), "b": low}  # 1, 1 and 2: of others Student's t is not sure
    assert judge(ABOVE, unsure).verdict == OPEN
    assert (
        judge(ABOVE, {"a": seeds(50, 61, 56), "b": low}).verdict == OPEN
    )  # nor with one seed equal


def test_pairs_are_clients_of_one_seed() -> None:
    """Clients differ by far more than the methods do, and the order of clients differs between the
    runs.
    """
    low = seeds(50, 60, 55, spread=5)
    high = [dict(reversed([(k, v + 0.5) for k, v in one.items()])) for one in low]
    found = judge(ABOVE, {"a": high, "b": low})
    assert (found.verdict, found.effect, found.low, found.high) == (HOLDS, 0.5, 0.5, 0.5)
    lost = [{k: v for k, v in one.items() if k != "c3"} for one in high]
    assert judge(ABOVE, {"a": lost, "b": low}).effect == 0.5  # who is in one run only is no pair
    assert judge(ABOVE, {"a": [{"x": 1.0}] * 3, "b": low}).verdict == OPEN


def test_a_margin_moves_the_bound() -> None:
    numbers = {"a": seeds(52, 62, 57), "b": seeds(50, 60, 55)}
    for margin, verdict in ((1.9, HOLDS), (2.0, FAILS), (2.1, FAILS), (-3.0, HOLDS)):
        assert judge(case("above", high="a", low="b", margin=margin), numbers).verdict == verdict
    assert (
        judge(case("above", high="b", low="a", margin=-2.5), numbers).verdict == HOLDS
    )  # loses little
    assert judge(case("above", high="b", low="a", margin=-1.5), numbers).verdict == FAILS


def test_less_than_three_seeds_decide_nothing_but_what_is_exact() -> None:
    numbers = {"a": seeds(51, 61), "b": seeds(50, 60, 55)}
    found = judge(ABOVE, numbers)
    assert (found.verdict, found.seeds, found.why) == (OPEN, 2, "2 seeds of at least 3")
    ratio = case("ratio", measure="scalars", row="a", to="b", at_most=0.25)
    assert judge(ratio, {"a": whole(1), "b": whole(4)}).verdict == HOLDS
    assert (
        judge(ratio._replace(measure="processor"), {"a": whole(1), "b": whole(4)}).verdict == OPEN
    )


def test_missing_runs_are_told_by_name() -> None:
    found = judge(ABOVE, {"a": seeds(51, 61, 57), "b": []})
    assert (found.verdict, found.seeds, found.why) == (OPEN, 0, "1 row not run: b")
    assert math.isnan(found.effect)
    assert judge(ABOVE, {}).why == "2 rows not run: a, b"


def test_within_has_two_sides() -> None:
    test = case("within", row="a", of="b", margin=1.0)
    low = seeds(50, 60, 55)
    for shift, verdict in (
        (0.4, HOLDS),
        (-0.4, HOLDS),
        (1.0, HOLDS),
        (-1.0, HOLDS),
        (1.01, FAILS),
        (-1.01, FAILS),
    ):
        assert (
            judge(test, {"a": seeds(50 + shift, 60 + shift, 55 + shift), "b": low}).verdict
            == verdict
        ), shift
    assert judge(test, {"a": seeds(50.5, 61.5, 55), "b": low}).verdict == OPEN


def test_slightly_above_is_above_and_not_by_much() -> None:
    test = case("above", high="a", low="b", at_most=1.0)
    low = seeds(50, 60, 55)
    for shift, verdict in ((0.4, HOLDS), (1.0, HOLDS), (1.01, FAILS), (0.0, OPEN), (-0.4, FAILS)):
        shifted = seeds(50 + shift, 60 + shift, 55 + shift)
        assert judge(test, {"a": shifted, "b": low}).verdict == verdict, shift


def test_two_runs_that_are_the_same_decide_nothing() -> None:
    numbers = {"a": seeds(1.0, 2.0, 3.0), "b": seeds(1.0, 2.0, 3.0)}
    for test in (
        ABOVE,
        case("above", high="a", low="b", margin=-1.0),
        case("within", row="a", of="b", margin=1.0),
    ):
        found = judge(test, numbers)
        assert (found.verdict, found.why) == (OPEN, "the runs are the same for every client")
    sent = case("within", measure="scalars", row="a", of="b", margin=1.0)
    assert judge(sent, {"a": whole(5.0), "b": whole(5.0)}).verdict == HOLDS  # what is exact may tie
    best = case("best", row="a", among=["b"], margin=-1.0)
    assert judge(best, numbers).verdict == HOLDS  # a rule that chose b did choose well


def test_an_order_has_every_row_above_the_one_before() -> None:
    test = case("order", over=["a", "b", "c", "d"])
    up = {name: seeds(at, at + 1, at) for name, at in zip("abcd", (10, 50, 60, 80), strict=True)}
    found = judge(test, up)
    assert (found.verdict, found.effect, found.why) == (HOLDS, 10, "against b")
    bent = {
        **up,
        "b": up["d"],
        "c": up["b"],
        "d": up["c"],
    }  # 10, 80, 50, 60: a line through it rises
    found = judge(test, bent)
    assert (found.verdict, found.effect, found.why) == (FAILS, -30, "against b")
    assert judge(test._replace(kind="trend"), bent).verdict == HOLDS


def test_an_order_says_nothing_of_two_rows_that_are_one_run() -> None:
    test = case("order", over=["a", "b", "c"])
    found = judge(test, {"a": seeds(1, 2, 3), "b": seeds(5, 6, 7), "c": seeds(5, 6, 7)})
    assert (found.verdict, found.effect) == (OPEN, 0)
    assert found.why == "the runs are the same for every client, against b"
    found = judge(test, {"a": seeds(9, 9, 9), "b": seeds(5, 6, 7), "c": seeds(5, 6, 7)})
    assert (found.verdict, found.why) == (FAILS, "against a")  # the others are two runs
    sent = test._replace(measure="scalars")
    assert judge(sent, {"a": whole(1), "b": whole(5), "c": whole(5)}).verdict == FAILS  # exact


def test_a_finding_carries_whom_it_is_against_and_whether_the_bound_was_asked() -> None:
    test = case("order", over=["a", "b", "c"])
    rising = {"a": seeds(1, 2, 3), "b": seeds(5, 6, 7), "c": seeds(9, 9, 9)}
    held = judge(test, rising)
    assert (held.against, held.untested) == ("b", False)
    alike = judge(test, {**rising, "c": rising["b"]})
    assert (alike.against, alike.untested) == ("b", True)
    open_ = judge(ABOVE, {"a": seeds(51, 61, 49), "b": seeds(50, 60, 55)})
    assert (open_.verdict, open_.against, open_.untested) == (OPEN, "", False)
    assert judge(ABOVE, {"a": seeds(51, 61), "b": seeds(50, 60)}).untested  # too few
    assert judge(ABOVE, {"a": seeds(51, 61, 49)}).untested  # b was not run


def test_best_is_above_each_of_the_others() -> None:
    test = case("best", row="b", among=["a", "b", "c"])
    numbers = {"a": seeds(50, 60, 55), "b": seeds(53, 62, 58), "c": seeds(51, 61, 56)}
    found = judge(test, numbers)
    assert (found.verdict, found.effect, found.why) == (HOLDS, pytest.approx(5 / 3), "against c")
    found = judge(test, {**numbers, "a": seeds(54, 63, 59)})
    assert (found.verdict, found.effect, found.why) == (FAILS, -1, "against a")
    found = judge(test, {**numbers, "c": seeds(54, 61, 56)})
    assert (found.verdict, found.why) == (OPEN, "the interval has the bound in it, against c")


def test_who_is_below_one_is_not_the_best_whatever_was_not_run() -> None:
    test = case("best", row="b", among=["a", "b", "c"])
    numbers = {"a": seeds(54, 63, 59), "b": seeds(53, 62, 58)}
    found = judge(test, numbers)
    assert (found.verdict, found.effect, found.why) == (FAILS, -1, "against a")
    found = judge(test, {**numbers, "a": seeds(50, 60, 55)})
    assert (found.verdict, found.seeds, found.why) == (OPEN, 0, "1 row not run: c")
    assert judge(test, {"a": numbers["a"]}).why == "2 rows not run: b, c"
    assert judge(test, {"b": numbers["b"]}).why == "2 rows not run: a, c"


def test_a_trend_is_the_rise_of_the_line() -> None:
    test = case("trend", over=["a", "b", "c"])
    up = {
        "a": seeds(50, 60, 55, spread=3),
        "b": seeds(54, 60, 57, spread=3),
        "c": seeds(53, 63, 59, spread=3),
    }
    found = judge(test, up)
    assert (found.verdict, found.effect) == (HOLDS, pytest.approx((3 + 3 + 4) / 3))
    down = {"a": up["c"], "b": up["b"], "c": up["a"]}
    assert judge(test, down).verdict == FAILS
    assert judge(test._replace(direction="down"), down).verdict == HOLDS
    assert judge(test._replace(direction="down"), up).verdict == FAILS
    flat = dict.fromkeys("abc", seeds(1, 2, 3))
    assert {judge(test._replace(direction=way), flat).verdict for way in ("up", "down")} == {FAILS}
    four = case("trend", over=["a", "b", "c", "d"])  # a line, not the difference of the ends
    found = judge(
        four, {"a": seeds(1, 1, 1), "b": seeds(9, 9, 9), "c": seeds(1, 1, 1), "d": seeds(1, 1, 1)}
    )
    assert found.effect == pytest.approx(3 * np.polyfit(range(4), [1, 9, 1, 1], 1)[0])


@pytest.mark.parametrize(("row", "to"), [((0, 6, 6), (0, 2, 2)), ((1, 6, 6), (0, 2, 2))])
def test_a_seed_whose_ratio_is_no_number_decides_nothing(
    row: tuple[float, ...], to: tuple[float, ...]
) -> None:
    """Two seeds of three are not every seed."""
    ratio = case("ratio", measure="minutes", row="a", to="b", at_least=2.0)
    found = judge(ratio, {"a": whole(*row), "b": whole(*to)})
    assert (found.verdict, found.why) == (OPEN, "a seed has no finite number")


def test_a_client_that_has_no_number_decides_nothing() -> None:
    high = seeds(60, 60, 60)
    high[0]["c1"] = math.nan
    for clients in (True, False):
        found = judge(ABOVE, {"a": high, "b": seeds(50, 50, 50)}, clients=clients)
        assert found.verdict == OPEN


def test_chance_decides_as_often_as_the_page_says() -> None:
    """docs/reproduce.md: of no difference, in at most 1 of 2^seeds cases."""
    rng = np.random.default_rng(0)
    nothing = [{"": 0.0}] * 3
    held = [
        judge(ABOVE, {"a": whole(*rng.normal(size=3)), "b": nothing}, clients=False).verdict
        for _ in range(2000)
    ]
    assert held.count(HOLDS) / 2000 == pytest.approx(1 / 8, abs=0.02)
    assert held.count(FAILS) / 2000 == pytest.approx(1 / 8, abs=0.02)


def test_chance_decides_on_spreads_as_often_as_the_page_says() -> None:
    rng = np.random.default_rng(0)
    test = case("steadier", row="a", than="b")
    drawn = ({name: whole(*rng.normal(size=5)) for name in "ab"} for _ in range(1000))
    held = [judge(test, numbers, clients=False).verdict for numbers in drawn]
    assert held.count(HOLDS) / 1000 == pytest.approx(0.025, abs=0.015)
    assert held.count(FAILS) / 1000 == pytest.approx(0.025, abs=0.015)


def test_reaches_and_share_and_ratio_hold_at_their_bound() -> None:
    least = case("reaches", row="a", at_least=0.95, measure="stability")
    assert judge(least, {"a": whole(0.95, 0.95, 0.95)}).verdict == HOLDS
    assert judge(least, {"a": whole(0.95, 0.95, 0.94)}).verdict == OPEN
    assert judge(least, {"a": whole(0.9, 0.9, 0.91)}).verdict == FAILS
    most = case("reaches", row="a", at_most=0.2, measure="recovery")
    assert judge(most, {"a": whole(0.2, 0.2, 0.2)}).verdict == HOLDS
    assert judge(most, {"a": whole(0.3, 0.3, 0.31)}).verdict == FAILS
    share = case("share", high="a", low="b", at_least=3 / 7)
    low = seeds(50, 60, 55)
    three = [{k: v + (1 if k in ("c0", "c1", "c6") else 0) for k, v in one.items()} for one in low]
    assert judge(share, {"a": three, "b": low}).effect == pytest.approx(3 / 7)
    assert judge(share, {"a": low, "b": three}).verdict == FAILS
    all_but_one = [{k: v + (k != "c0" or v < 55) for k, v in one.items()} for one in low]
    found = judge(share, {"a": all_but_one, "b": low})  # 1, 6/7 and 6/7
    assert (0.5 < found.low < 6 / 7, found.high) == (True, 1.0)  # Student's t would go on to 1.2
    ratio = case("ratio", measure="scalars", row="a", to="b", at_most=0.5)
    assert judge(ratio, {"a": whole(1, 2, 3), "b": whole(2, 4, 6)}).verdict == HOLDS
    assert judge(ratio, {"a": whole(1, 2, 3.1), "b": whole(2, 4, 6)}).verdict == OPEN
    assert judge(ratio, {"a": whole(2, 4, 6), "b": whole(2, 4, 6)}).verdict == FAILS


def test_the_same_persons_are_drawn_once_for_all_seeds() -> None:
    """Nine seeds make it no surer who is drawn: the interval is that of one seed."""
    own = np.random.default_rng(3).normal(1, 5, 50)
    high = [{f"w{k}": own[k] for k in order} for order in (range(50), reversed(range(50)))]
    high = [high[seed % 2] for seed in range(9)]  # whatever order a run has them in
    low = [dict.fromkeys(one, 0.0) for one in high]
    dealt = judge(ABOVE, {"a": high, "b": low})
    same = judge(ABOVE, {"a": high, "b": low}, persons=True)
    assert (dealt.effect, dealt.seeds) == (same.effect, same.seeds)
    one = over_seeds_and_clients([own])
    assert same.high - same.low == pytest.approx(one[1] - one[0], rel=0.05)
    assert dealt.high - dealt.low < 0.5 * (same.high - same.low)
    assert (dealt.verdict, same.verdict) == (HOLDS, OPEN)
    without = [{k: v for k, v in one.items() if k != "w0"} for one in low]
    part = judge(ABOVE, {"a": high, "b": [*low[:8], without[8]]}, persons=True)
    assert part.effect == pytest.approx(own[1:].mean())


def test_several_cases_become_one_verdict() -> None:
    cases = tuple(ABOVE._replace(name=name) for name in ("x", "y", "z"))
    claim = Claim("p", "id", "there", "says", "", cases)

    def of(*verdicts: str, run: int = 3) -> tuple[str, tuple[str, ...]]:
        return verdict_of(claim, [Finding(v, seeds=run if v == OPEN else 3) for v in verdicts])

    assert of(HOLDS, HOLDS, HOLDS) == (HOLDS, ("x", "y", "z"))
    assert of(HOLDS, FAILS, HOLDS) == (ONLY, ("x", "z"))
    assert of(OPEN, OPEN, HOLDS) == (ONLY, ("z",))
    assert of(OPEN, OPEN, HOLDS, run=0) == (OPEN, ("z",))  # what is not run may hold as well
    assert of(OPEN, OPEN, HOLDS, run=1) == (OPEN, ("z",))  # two seeds more may decide
    assert of(OPEN, FAILS, HOLDS, run=0) == (ONLY, ("z",))
    assert of(OPEN, FAILS, OPEN) == (FAILS, ())
    assert of(OPEN, OPEN, OPEN) == (OPEN, ())


def test_a_case_that_needs_more_seeds_than_it_has_leaves_its_claim_undecided() -> None:
    cases = tuple(case("steadier", row=name, than="b")._replace(name=name) for name in ("x", "y"))
    claim = Claim("p", "id", "there", "says", "", cases)
    for seeds, expected in ((3, OPEN), (5, ONLY)):
        found = [Finding(HOLDS, seeds=5), Finding(OPEN, seeds=seeds)]
        assert verdict_of(claim, found) == (expected, ("x",))


def test_without_clients_the_seeds_decide_and_there_is_no_interval() -> None:
    numbers = {"a": whole(51, 61, 57), "b": whole(50, 60, 55)}
    found = judge(ABOVE, numbers, clients=False)
    assert (found.verdict, found.means, found.seeds) == (HOLDS, (1, 1, 2), 3)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert judge(ABOVE, {"a": numbers["b"], "b": numbers["a"]}, clients=False).verdict == FAILS
    mixed = judge(ABOVE, {"a": whole(51, 59, 57), "b": numbers["b"]}, clients=False)
    assert (mixed.verdict, mixed.why) == (OPEN, "seeds disagree")
    best = case("best", row="a", among=["b", "c"])
    lacking = judge(best, {"a": whole(1, 1, 1), "b": whole(2, 3, 4)}, clients=False)
    assert (lacking.verdict, lacking.means) == (FAILS, (-1, -2, -3))
    assert judge(ABOVE, numbers).means == ()  # with clients there is an interval instead


def test_steadier_is_a_smaller_sd_by_the_interval_of_pitman_and_morgan() -> None:
    test = case("steadier", row="a", than="b")
    calm, wild = whole(50, 50.1, 50.2, 50.3, 50.1), whole(48, 52, 50, 53, 47)
    held = judge(test, {"a": calm, "b": wild})
    assert (held.verdict, held.seeds) == (HOLDS, 5)
    assert held.effect == pytest.approx((6.5 / 0.013) ** 0.5)  # variances 26 / 4 and 0.052 / 4
    assert held.low > 1
    assert judge(test, {"a": wild, "b": calm}).verdict == FAILS
    alike = judge(test, {"a": whole(48, 52, 51, 53, 47), "b": wild})
    assert (alike.verdict, alike.why) == (OPEN, "the interval has the bound in it")
    few = judge(test, {"a": calm[:3], "b": wild[:3]})
    assert (few.verdict, few.why, few.untested) == (OPEN, "3 seeds of at least 5", True)
    assert (held.untested, alike.untested) == (False, False)
    assert few.effect == pytest.approx(20)  # 2 / 0.1
    assert math.isnan(few.low)
    assert judge(test, {"a": calm[:1], "b": wild[:1]}).verdict == OPEN
    still = judge(test, {"a": whole(50, 50, 50, 50, 50), "b": wild})
    assert (still.verdict, still.why) == (OPEN, "a seed has no finite number")


def test_the_interval_of_a_ratio_of_sds_ends_where_its_test_does() -> None:
    """Morgan: sds σ and ρ σ are equal at the 5 % level just where x + y/ρ and x − y/ρ correlate no
    more than Student's t of n − 2 allows. scipy gives the p of that correlation.
    """
    rng = np.random.default_rng(0)
    own = rng.normal(size=7)
    other = 2 * own + 3 * rng.normal(size=7)
    found = judge(case("steadier", row="a", than="b"), {"a": whole(*own), "b": whole(*other)})
    for end in (found.low, found.high):
        assert pearsonr(own + other / end, own - other / end).pvalue == pytest.approx(0.05)


def test_sds_of_a_nan_are_undecided() -> None:
    numbers = {"a": whole(1, 2, math.nan, 4, 5), "b": whole(1, 2, 3, 4, 6)}
    found = judge(case("steadier", row="a", than="b"), numbers)
    assert (found.verdict, found.why) == (OPEN, "a seed has no finite number")
