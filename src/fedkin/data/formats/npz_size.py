"""What an .npz archive says of its own size, asked before anything of it is unpacked."""

import math
import zipfile
from pathlib import Path

import numpy as np

from fedkin.core.errors import FedkinError, cut
from fedkin.data.formats.memory import room_of_compressed

MEMBERS = 10_000
ROWS = 2**40  # along one axis, also of an array that holds nothing


def check_size(path: Path) -> None:
    """Refuse an archive that is a bomb: some kilobytes that unpack to more than there is room for.

    Args:
        path: The archive, which is not unpacked.

    Raises:
        FedkinError: too many arrays, too large ones, or a header that promises other sizes than
            the archive has.
        zipfile.BadZipFile, OSError, ValueError: it is no archive of arrays.
    """
    if not zipfile.is_zipfile(path):
        return  # numpy says what it is instead
    most = room_of_compressed(path)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MEMBERS:
            raise FedkinError(f"{path} has {len(members):,} arrays, more than {MEMBERS:,}")
        total = sum(member.file_size for member in members)
        if total > most:
            raise FedkinError(
                f"{path} unpacks to {total:,} bytes, and a file of its size may take "
                f"{most:,} on this machine now"
            )
        for member in members:
            if member.filename.endswith(".npy"):
                _check_header(path, archive, member)


def _check_header(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in read:
            return  # numpy reads it, or says why it does not
        shape, _, dtype = read[version](file)
        if dtype.hasobject:
            raise ValueError("allow_pickle")  # as numpy says it
        size = math.prod(shape) * dtype.itemsize
        if file.tell() + size != member.file_size or max(shape, default=0) > ROWS:
            name = cut(member.filename.removesuffix(".npy"), 40)
            raise FedkinError(
                f"{path} is damaged: array {name!r} is not as large as its header says"
            )
