"""What differs between two machines."""

from fedkin.bench.machine import differences


def test_what_differs_is_told_by_name() -> None:
    then = {"versions": {"torch": "2.8", "numpy": "2"}, "machine": {"threads": "1"}}
    now = {"versions": {"torch": "2.9", "numpy": "2"}, "machine": {"threads": "4"}}
    assert differences(then, now) == ["torch 2.8 then, 2.9 now", "threads 1 then, 4 now"]
    assert differences(then, then) == []
