"""What a node writes down, where the disk is full."""

import pytest

pytest.importorskip("flwr")

from fedkin.engine.store import StoreError
from fedkin.flower.node.lines import add_lines
from fedkin.flower.node.request_log import ASKED
from tests.flower.rogue import full


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path):
    """Files may have 16 bytes: the first line fits, of the second one a part would."""
    path = tmp_path / ASKED
    add_lines(path, ["a 1 b"])
    with pytest.raises(StoreError, match="cannot be written"):
        full(lambda: add_lines(path, ["local 2 " + "c" * 64]))
    assert path.read_bytes() == b"a 1 b\n"
    add_lines(path, ["local 2 d"])
    assert path.read_bytes() == b"a 1 b\nlocal 2 d\n"


def test_a_line_that_was_cut_off_takes_no_other_with_it(tmp_path):
    path = tmp_path / ASKED
    path.write_bytes(b"local 1 b\nloc")
    for line in ("local 2 d", "local 3 e"):
        add_lines(path, [line])
    assert path.read_bytes() == b"local 1 b\nloc\nlocal 2 d\nlocal 3 e\n"
