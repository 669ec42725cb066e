"""One run that is given twice, and runs that repeat each other."""

import sqlite3
from pathlib import Path

from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.experiments.repeats import each_folder_once
from tests.report.records_for_tests import FACTS, write


def test_a_folder_that_is_given_twice_is_one_run(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a" / "one"), write(tmp_path / "two", method="local")
    (tmp_path / "b").mkdir()
    link = tmp_path / "b" / "one"
    link.symlink_to(one)
    given = [one, other, link, tmp_path / "a" / ".." / "a" / "one"]
    assert each_folder_once(given) == [one, other]
    found = comparison(given)
    assert [row["run"] for row in found.rows] == ["one", "two"]  # a short name is enough again
    assert found.warnings == []


def test_two_searches_that_tried_one_setting_show_it_once(tmp_path: Path) -> None:
    one, same = write(tmp_path / "one"), write(tmp_path / "same")
    local = write(tmp_path / "local", method="local")
    found = comparison([one, local, same])
    assert [row["run"] for row in found.rows] == ["one", "local"]
    (said,) = found.warnings
    assert said == (
        "the same experiment with the same seed: one, same; their models agree, bit by bit, so "
        "one of them is shown"
    )
    named = comparison([one, same, local], against="same")  # a baseline that is named stays
    assert [row["run"] for row in named.rows] == ["same", "local"]
    assert named.baseline == "same"


def test_runs_of_two_engines_are_both_shown_for_their_seconds(tmp_path: Path) -> None:
    workers = {**FACTS["spec"], "engine": {"name": "multiprocess", "workers": 2}}
    one, other = write(tmp_path / "one"), write(tmp_path / "other", spec=workers)
    found = comparison([one, other])
    assert [row["run"] for row in found.rows] == ["one", "other"]
    (said,) = found.warnings
    assert said == "the same experiment with the same seed: one, other; counted once over seeds"


def test_runs_of_other_bits_are_both_shown_and_counted_once(tmp_path: Path) -> None:
    one, other, old = (write(tmp_path / name) for name in ("one", "other", "old"))
    for folder, mark in ((other, '"beef"'), (old, '""')):
        with sqlite3.connect(folder / "run.db") as connection:
            connection.execute("UPDATE facts SET value = ? WHERE value = '\"f00d\"'", (mark,))
    found = comparison([one, other])
    assert len(found.rows) == 2
    (said,) = found.warnings
    assert said.endswith(
        "one, other; counted once over seeds, and their fingerprints differ (2 of 2 runs)"
    )
    (said,) = comparison([one, old]).warnings  # an old record has no fingerprint
    assert said.endswith("one, old; counted once over seeds")
    assert len(comparison([one, old]).rows) == 2
