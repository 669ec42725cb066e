"""What a node writes of what it was asked, where the disk is full."""

import pytest

pytest.importorskip("flwr")

from fedkin.engine.store import StoreError
from fedkin.flower.node.limits import ASKED, Asked
from tests.flower.rogue import full


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path):
    """Files may have 16 bytes: the first line fits, of the second one a part would."""
    asked = Asked(tmp_path)
    asked._append(["a 1 b"])
    with pytest.raises(StoreError, match="cannot be written"):
        full(lambda: asked._append(["local 2 " + "c" * 64]))
    assert (tmp_path / ASKED).read_bytes() == b"a 1 b\n"
    asked._append(["local 2 d"])
    assert (tmp_path / ASKED).read_bytes() == b"a 1 b\nlocal 2 d\n"
