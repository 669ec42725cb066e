"""Byte strings in Flower's records."""

import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, RecordDict

from fedkin.flower.envelope import Refused
from fedkin.flower.records import RECORD, pack, unpack


def test_parts_come_back_in_their_order() -> None:
    parts = [bytes([n]) * n for n in (3, 0, 9, 1, 7, 2, 8, 4)]
    assert [bytes(part) for part in unpack(pack(parts), 34)] == parts


def test_what_is_too_large_or_no_message_of_ours_is_refused() -> None:
    with pytest.raises(Refused, match="message of 3 bytes, more than the 2 allowed"):
        unpack(pack([b"ab", b"c"]), 2)
    for content in (RecordDict(), RecordDict({RECORD: ArrayRecord()})):
        with pytest.raises(Refused, match="no message of fedkin"):
            unpack(content, 10**6)
    renamed = pack([b"a", b"b"])
    renamed[RECORD]["7"] = renamed[RECORD].pop("1")
    with pytest.raises(Refused):
        unpack(renamed, 10)


def test_a_message_has_at_most_eight_parts() -> None:
    assert len(unpack(pack([b"x"] * 8), 8)) == 8
    with pytest.raises(Refused, match="no message of fedkin"):
        unpack(pack([b"x"] * 9), 9)
    with pytest.raises(Refused, match="no message of fedkin"):
        unpack(RecordDict({RECORD: pack([b"x"])[RECORD], "other": ArrayRecord()}), 9)
