"""What a report begins with: the gain on training alone, and what to do next."""

from pathlib import Path

from fedkin.report.charts.by_client import by_client
from fedkin.report.matrix import measured
from fedkin.report.page.gain import Gain
from fedkin.report.page.lead import sentence
from fedkin.report.page.next_steps import next_steps
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.report.page.lead_examples import beside


def test_the_baseline_and_the_intervals_are_drawn(tmp_path: Path) -> None:
    with opened(beside(tmp_path)) as run:
        what, matrices = measured(run, of_run(run))
        drawn = by_client(matrices, what, run.clients, {"alone": {0: 0.2, 9: 0.1}})
    rows = drawn.spec["datasets"]["rows"]
    assert [(r["client"], r["value"]) for r in rows if r["view"] == "alone"] == [("a", 0.2)]
    (one,) = (r for r in rows if (r["client"], r["view"]) == ("b", "personal"))
    assert (one["low"], one["high"]) == (0.33154, 0.66846)  # Wilson, 15 of 30


def test_equal_scores_are_no_rise_and_nothing_to_try_again(tmp_path: Path) -> None:
    with opened(beside(tmp_path)) as run:
        found = of_run(run)
        scores = {0: 0.5, 1: 0.8}
        equal = Gain(
            "local", "accuracy", "", scores, dict.fromkeys(scores, 0.0), 0.0, 0.0, 0.0, 1.0
        )
        said = sentence(found, equal)
        steps = next_steps(run, found, equal, None)
        evened = sentence(found, equal._replace(by_client={0: 0.1, 1: -0.1}))
    assert (
        said == "With comet, every client has the same test accuracy as with local training alone."
    )
    assert not [step for step in steps if "Not significant" in step.text]
    assert "1 does worse: test accuracy is the same on average, which may be chance" in evened
