"""The list of the protected runs that a node has begun."""

import pytest

pytest.importorskip("flwr")

from fedkin.engine.store import StoreError
from fedkin.flower.node.protected_runs import BEGUN, is_begun, note_begun
from tests.flower.rogue import full

RUN = "0123456789abcdef"


def test_a_list_of_runs_that_cannot_be_read_or_written_ends_the_work(tmp_path):
    (tmp_path / BEGUN).mkdir()
    with pytest.raises(StoreError, match="begun cannot be read"):
        is_begun(tmp_path / RUN)
    (tmp_path / BEGUN).rmdir()
    with pytest.raises(StoreError, match="cannot be written"):
        full(lambda: note_begun(tmp_path / RUN))
    assert not is_begun(tmp_path / RUN)
    for _ in range(2):
        note_begun(tmp_path / RUN)
    assert is_begun(tmp_path / RUN)
    assert (tmp_path / BEGUN).read_text() == f"{RUN}\n"
