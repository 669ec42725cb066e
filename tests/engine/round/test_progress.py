"""What has happened in a round so far."""

import time

import pytest

from fedkin.engine.round.progress import RoundProgress


def test_a_part_lasts_from_the_end_of_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    course = RoundProgress(3, "round", [0, 2], began=10.0)
    for now, part in ((12.5, "local"), (13.0, "server")):
        monkeypatch.setattr(time, "perf_counter", lambda now=now: now)
        course.end(part)
    assert course.seconds == {"local": 2.5, "server": 0.5}


def test_rounds_share_no_lists() -> None:
    first, second = RoundProgress(1, "round", [0]), RoundProgress(2, "round", [0])
    first.missing[0] = "gone"
    assert second.missing == {}
    assert second.sent == []
    assert second.began >= first.began
