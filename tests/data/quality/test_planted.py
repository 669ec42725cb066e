"""Thirty planted leaks and eleven other faults are found, and clean tables are left in peace: at
most one alarm a data set.
"""

import pytest

from tests.data.quality.made import CLEAN, looked_at, planted, unclean

LEAKS = planted()
PLANTED = {**LEAKS, **unclean(6)}


def test_there_are_thirty() -> None:
    assert len(LEAKS) == 30


@pytest.mark.rotating
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_with_its_fix(name: str) -> None:
    kind, columns, frame = PLANTED[name]
    found = looked_at(frame)
    ours = [one for one in found if one["kind"] == kind and {*one["columns"]} >= {*columns}]
    assert ours, (kind, columns, [one["sentence"] for one in found])
    assert all(one["fix"] and one["why"] for one in ours)
    assert len(found) - len(ours) <= 2, [one["sentence"] for one in found]


@pytest.mark.rotating
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_table_has_one_alarm_at_most(name: str) -> None:
    found = looked_at(CLEAN[name]())
    assert len(found) <= 1, [one["sentence"] for one in found]
