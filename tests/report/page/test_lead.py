"""What a report begins with: the gain on training alone, and what to do next."""

from pathlib import Path

from fedkin.report.charts.by_client import by_client
from fedkin.report.matrix import measured
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
