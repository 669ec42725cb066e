"""Samples that occur twice."""

from pathlib import Path
from typing import Any

from fedkin.data.sources import load
from fedkin.data.tables.findings import findings
from tests.data.tables.findings_examples import found


def kinds(found: dict[str, Any]) -> set[str]:
    """The kinds of its problems."""
    return {problem["kind"] for problem in found["problems"]}


def test_repeated_samples_are_counted_where_they_lie(tmp_path: Path) -> None:
    rows = "a,1,0\na,1,0\na,1,1\nb,1,0\nb,2,0\nb,3,1\n"
    told = found(tmp_path, "site,n,label\n" + rows, client="site")
    assert told["duplicates"] == {"all": 2, "within_clients": 1, "across_clients": 1}
    assert "duplicates" not in kinds(told), "rows of so few values repeat by chance"


def test_rows_of_many_values_that_repeat_are_a_fault_with_its_fix(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{i * 37 % 101},{i * 53 % 97},{i % 3 % 2}" for i in range(90)]
    doubled = [*rows, rows[4], rows[8], "b" + rows[12][1:]]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,m,label", *doubled]))
    problems = findings(load(str(tmp_path / "t.csv"), client="site"))["problems"]
    fixes = [one["fix"] for one in problems if one["kind"] == "duplicates"]
    assert fixes == [{"data.duplicates": "drop"}, {"split.group": "duplicates"}]
    mended = load(str(tmp_path / "t.csv"), client="site", duplicates="drop")
    assert len(mended.x) == 90
    assert "3 rows repeat an earlier one and are left out" in mended.said
