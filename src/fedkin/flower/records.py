"""Byte strings in Flower's records and back.

The codec's bytes travel as arrays, which Flower sends in pieces.
"""

from collections import OrderedDict

from flwr.app import Array, ArrayRecord, RecordDict

from fedkin.flower.envelope import Refused
from fedkin.flower.node.local_socket import MOST_PARTS

RECORD = "fedkin"


def pack(parts: list[bytes]) -> RecordDict:
    """Byte strings as one record.

    Args:
        parts: A header, and messages.

    Returns:
        What Flower carries.
    """
    arrays = [Array(dtype="uint8", shape=(len(part),), stype="fedkin", data=part) for part in parts]
    return RecordDict(
        {RECORD: ArrayRecord(OrderedDict((str(k), array) for k, array in enumerate(arrays)))}
    )


def unpack(content: RecordDict, limit: int) -> list[bytes]:
    """What ``pack`` packed.

    Args:
        content: Of Flower's message, which may be anybody's.
        limit: Bytes that all parts may have together.

    Returns:
        At most MOST_PARTS byte strings.

    Raises:
        Refused: It is no message of fedkin, or too large.
    """
    if set(content) != {RECORD} or not isinstance(content[RECORD], ArrayRecord):
        raise Refused("it is no message of fedkin")
    record = content.array_records[RECORD]
    if not 1 <= len(record) <= MOST_PARTS or set(record) != {str(k) for k in range(len(record))}:
        raise Refused("it is no message of fedkin")
    parts = [record[str(k)].data for k in range(len(record))]
    size = sum(len(part) for part in parts)
    if size > limit:
        raise Refused(f"message of {size} bytes, more than the {limit} allowed")
    return parts
