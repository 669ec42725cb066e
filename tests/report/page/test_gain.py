"""Each client's gain on what needs no federation, and whose run is its baseline."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fedkin.report.page.gain import gain_of
from fedkin.report.page.lead import lead, sentence
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.report.page.lead_examples import beside
from tests.report.records_for_tests import write


def test_the_gain_is_that_of_each_client_on_local_beside_it(tmp_path: Path) -> None:
    with opened(beside(tmp_path)) as run:
        found = of_run(run)
        gain = gain_of(run, found)
        assert gain is not None
        assert gain.by_client == {0: 0.3, 1: -0.1, 2: 0.0}
        assert (gain.helped, gain.hurt) == ([0], [1])
        assert gain.mean == pytest.approx(0.2 / 3)
        assert not gain.sure
        assert sentence(found, gain) == (
            "With comet, 1 of 3 clients does better than with local training alone and 1 does "
            "worse: test accuracy rises by 6.67 points on average, which may be chance (95 % "
            "interval of the gain −45.04 … +58.38 points)."
        )


@pytest.mark.parametrize(
    "facts",
    [{"method": "fedavg"}, {"seed": 8}, {"data_digest": "other"}, {"finished": False}],
)
def test_another_run_is_no_baseline(tmp_path: Path, facts: dict[str, Any]) -> None:
    with opened(beside(tmp_path, **facts)) as run:
        assert gain_of(run, of_run(run)) is None


def test_a_baseline_of_as_many_rounds_comes_first_and_another_length_is_told(
    tmp_path: Path,
) -> None:
    folder = beside(tmp_path)  # of two rounds, as comet
    shorter(write(tmp_path / "alone", method="local"))
    with opened(folder) as run:
        gain = gain_of(run, of_run(run))
        assert gain is not None
        assert (gain.run, gain.rounds) == (str(tmp_path / "local"), "")
        assert "training longer" not in lead(of_run(run), gain)
    shorter(tmp_path / "local")
    with opened(folder) as run:
        gain = gain_of(run, of_run(run))
        assert gain is not None
        assert gain.run == str(tmp_path / "alone")
        assert (
            "Not the same number of rounds, so a difference may be one of training longer: "
            "1 round: alone; 2 rounds: comet.</p>"
        ) in lead(of_run(run), gain)


def shorter(folder: Path) -> None:
    """One round less."""
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("DELETE FROM rounds WHERE round = 2")


def test_no_end_of_the_gain_goes_beyond_what_there_can_be(tmp_path: Path) -> None:
    """Of two clients, with 0 and 0.2 more: Student's t would be 0.1 ± 1.27."""
    with opened(write(tmp_path / "x", baselines={"linear": {"0": 0.5, "1": 0.3}})) as run:
        run.facts["measure"] = "accuracy"
        gain = gain_of(run, of_run(run))
        assert gain is not None
        assert gain.by_client == {0: 0.0, 1: 0.2}
        assert (gain.low, gain.high) == (-1.0, 1.0)


def test_a_damaged_neighbour_is_passed_over(tmp_path: Path) -> None:
    folder = beside(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.db").write_text("nothing")
    with opened(folder) as run:
        gain = gain_of(run, of_run(run))
        assert gain is not None
        assert gain.run == str(tmp_path / "local")


def test_where_less_is_better_a_fall_is_a_gain(tmp_path: Path) -> None:
    facts = {"baselines": {"linear": {"0": 1.5, "1": 1.5, "2": 3.5}}, "measure": "log_loss"}
    with opened(write(tmp_path / "x", **facts)) as run:
        found = of_run(run)
        gain = gain_of(run, found)
        assert gain is not None
        assert gain.by_client == {0: 0.5, 1: -0.5, 2: 0.5}
        assert "test log-loss falls by 0.1667 on average" in sentence(found, gain)
        assert "linear models of their own" in sentence(found, gain)
