"""How many rounds fit a budget."""

import pytest

from fedkin.bench import case as cases
from fedkin.bench.case import Allowance
from fedkin.bench.trial import Ran, Sent, Work
from tests.bench.tiny import tiny


@pytest.mark.parametrize(
    ("sent", "work", "plan"),
    [
        (Sent(0, 1000, 0, 500, 500), Work(0, 50), {10: ["rounds", "bytes", "compute"]}),
        (Sent(0, 2000, 0, 1000, 1000), Work(0, 100), {10: ["rounds"], 5: ["bytes", "compute"]}),
        (Sent(600, 1000, 0, 800, 800), Work(0, 10), {10: ["rounds", "compute"], 4: ["bytes"]}),
        (Sent(2000, 0, 0, 1000, 1000), Work(900, 1), {10: ["rounds"]}),
        (Sent(0, 0, 0, 0, 0), Work(0, 52), {10: ["rounds", "bytes", "compute"]}),
    ],
)
def test_a_budget_is_as_many_rounds_as_fit(
    sent: Sent, work: Work, plan: dict[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"a": {"title": "A", "spec": {"data": {"name": "digits"}, "run": {"rounds": 10}}}}
    given = cases.case_of("tiny", tiny(settings=settings), "a", "ditto", "digest")
    first = Ran(None, {}, sent, 1.0, 0.5)  # type: ignore[arg-type]
    assert cases._plan(given, Allowance(1000, 500), first, work) == plan


def test_cheaper_methods_may_stretch() -> None:
    settings = {"a": {"title": "A", "spec": {"data": {"name": "digits"}, "run": {"rounds": 10}}}}
    suite = tiny(settings=settings, stretch=3, budgets=["bytes"], slack=0.0)
    given = cases.case_of("tiny", suite, "a", "ditto", "digest")
    for rounds, expected in [(500, 20), (100, 30)]:
        first = Ran(None, {}, Sent(0, rounds, 0, rounds, 0), 1.0, 0.5)  # type: ignore[arg-type]
        plan = cases._plan(given, Allowance(1000, 500), first, Work(0, 1))
        assert list(plan) == [expected]


def test_the_data_tell_which_samples_are_public_and_not_the_key() -> None:
    """Rows of before [public] groups was there keep their case."""
    suite = tiny()
    (label,) = suite.settings
    spec = suite.settings[label].spec
    parted = {**spec, "public": {**spec["public"], "groups": "parted"}}
    again = tiny(settings={label: {"title": "A", "spec": parted}})
    one, other = (cases.case_of("tiny", each, label, "ditto", "d") for each in (suite, again))
    assert one.setting.spec != other.setting.spec
    assert one.digest == other.digest
    assert one.digest != cases.case_of("tiny", suite, label, "ditto", "e").digest
