"""TensorBoard's file, made as a whole. Its own writer has a thread, which prints a traceback where
the disk is full, and leaves half a file.
"""

import io
import time
from collections.abc import Iterable
from typing import Any


def event_file(points: Iterable[tuple[str, int, float, float]], settings: str) -> bytes:
    """The content of a file of events.

    Args:
        points: (name, round, value, when: seconds since 1970).
        settings: A text in Markdown, shown as "settings".

    Returns:
        Records as TensorBoard reads them.

    Raises:
        ImportError: TensorBoard is not installed.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.record_writer import RecordWriter
    from torch.utils.tensorboard import summary

    made: Any = summary  # its functions are untyped
    now, content = time.time(), io.BytesIO()
    records = RecordWriter(content)
    records.write(Event(wall_time=now, file_version="brain.Event:2").SerializeToString())
    for name, at, value, when in points:
        event = Event(wall_time=when, step=at, summary=made.scalar(name, value))
        records.write(event.SerializeToString())
    told = Event(wall_time=now, summary=made.text("settings", settings))
    records.write(told.SerializeToString())
    return content.getvalue()
