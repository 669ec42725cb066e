"""What a round's record counts beside its messages."""

from fedkin.runs.record import Moved


def test_what_is_empty_has_not_moved() -> None:
    moved = Moved()
    for size in (120, 0, 7):
        moved = moved.with_one(size)
    assert moved == Moved(messages=2, bytes=127)
