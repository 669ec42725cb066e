"""Some of a table's rows, with all that is known of each."""

from fedkin.data.arrays import Ints
from fedkin.data.formats.frames import Read


def only(read: Read, kept: Ints, remark: str) -> Read:
    """The rows that stay.

    Args:
        read: The table.
        kept: [m] their numbers, ascending.
        remark: What is to be said of the others.

    Returns:
        A table of m rows; each is still where it stood, and a test row where it was one.
    """
    place = read.place
    return Read(
        read.frame.iloc[kept].reset_index(drop=True),
        lambda row: place(int(kept[row])),
        (*read.said, remark),
        read.added,
        None if read.test is None else read.test[kept],
    )
