"""A caller's choice of progress: shown, told to a function, or nothing."""

import pytest

from fedkin.api.progress import displayed
from fedkin.runs.record import Record
from fedkin.runs.spec import parse

SPEC, _ = parse({"run": {"rounds": 9}})
FIFTH = Record(5, "round", [0], [], {}, {}, {}, {}, {"total": 0.5})


def test_a_function_is_handed_on_and_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Record] = []
    with displayed(SPEC, seen.append) as update:
        assert update is not None
        update(FIFTH)
    assert seen == [FIFTH]
    for nothing in (None, False):
        with displayed(SPEC, nothing) as update:
            assert update is None
    assert capsys.readouterr().out == ""


def test_what_is_shown_goes_on_from_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    with displayed(SPEC, True, rounds=4, sent=3_000_000) as update:
        assert update is not None
        update(FIFTH)
    shown = capsys.readouterr().out
    assert "round 5/9" in shown
    assert "3 MB sent" in shown
